// just-bash: answers each line {"line": a command line} with {"ns", "out": bytes of stdout}.
// Its files lie in its own memory, as it has them by default.
//   node justbash.mjs MODULES FOLDER
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, folder] = process.argv.slice(2);
const at = join(modules, 'just-bash');
const { module, exports: all } = JSON.parse(readFileSync(join(at, 'package.json')));
const entry = module ?? all['.'].import?.default ?? all['.'].import ?? all['.'].default;
const { Bash } = await import(pathToFileURL(join(at, entry)));

const files = {};
const collect = (place, name) => {
    for (const entry of readdirSync(place)) {
        const path = join(place, entry);
        if (statSync(path).isDirectory()) collect(path, `${name}/${entry}`);
        else files[`${name}/${entry}`] = readFileSync(path, 'utf8');
    }
};
collect(folder, '/data');
const bash = new Bash({ files, cwd: '/data' });

for await (const line of createInterface({ input: process.stdin })) {
    const start = process.hrtime.bigint();
    const { stdout, stderr, exitCode } = await bash.exec(line);
    const ns = Number(process.hrtime.bigint() - start);
    console.log(JSON.stringify({ ns, exit: exitCode, out: stdout.length, stderr }));
}
