// The other side of the machine: npm's v86, a PC in Wasm with a JIT, given Debian's Linux.
//
//   node v86.mjs FOLDER boot PEERS INITRAMFS STATE   boots, saves its state, says what that took
//   node v86.mjs FOLDER restore PEERS STATE          a state; then a shell command a line of stdin
//
// Each answer is a line of JSON: {"ns": ..., "text": what the command printed}.
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, mode, peers, ...files] = process.argv.slice(2);
const { V86 } = await import(pathToFileURL(path.join(folder, "build/libv86.mjs")));
// Without the later half of these it takes twice as long to boot.
const CMDLINE = "console=ttyS0 quiet tsc=reliable mitigations=off random.trust_cpu=on nowatchdog " +
    "pnpbios=off acpi=off lpj=1000000 no_timer_check cryptomgr.notests";
const PROMPT = "READY# ";

const image = (file) => {
    const bytes = fs.readFileSync(file);
    return { buffer: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) };
};
const bios = path.join(peers, "usr/share/seabios");
const options = {
    wasm_path: path.join(folder, "build/v86.wasm"),
    memory_size: 128 << 20,
    vga_memory_size: 2 << 20,
    bios: image(path.join(bios, "bios.bin")),
    vga_bios: image(path.join(bios, "vgabios-stdvga.bin")),
    autostart: true,
    disable_keyboard: true,
    disable_mouse: true,
    disable_speaker: true,
};
if (mode === "boot") {
    const kernel = fs.readdirSync(path.join(peers, "boot")).find((f) => f.startsWith("vmlinuz"));
    Object.assign(options, { bzimage: image(path.join(peers, "boot", kernel)),
        initrd: image(files[0]), cmdline: CMDLINE });
} else {
    options.initial_state = image(files[0]);
}

const start = process.hrtime.bigint();
const machine = new V86(options);
let text = "", waiting = null;
machine.add_listener("serial0-output-byte", (byte) => {
    text += String.fromCharCode(byte);
    if (byte === 32 && waiting && text.endsWith(PROMPT)) {
        const answer = text.slice(0, -PROMPT.length);
        text = "";
        waiting(answer);
        waiting = null;
    }
});
const prompt = () => new Promise((resolve) => { waiting = resolve; });
const say = (since, answer) => console.log(JSON.stringify(
    { ns: Number(process.hrtime.bigint() - since), text: answer }));

if (mode === "boot") {
    await prompt();
    say(start, "");
    fs.writeFileSync(files[1], Buffer.from(await machine.save_state()));
    process.exit(0);
}
await new Promise((resolve) => machine.add_listener("emulator-ready", resolve));
for await (const line of readline.createInterface({ input: process.stdin })) {
    const since = process.hrtime.bigint(), answer = prompt();
    machine.serial0_send(line + "\n");
    say(since, await answer);
}
process.exit(0);
