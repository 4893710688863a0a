// Tries a tool: controls made from its parameters, files that it finds, and what it answers.
import { useRef, useState } from "preact/hooks";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes, duration } from "../../core/time";
import { runTool, type Ran, type Tool, type ToolParameter } from "../../core/tools";
import { Icon, Strange } from "../../parts/parts";

type Values = Record<string, string | boolean>;
interface Given { name: string; base64: string; size: number }

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line !== "");

/** What a control holds, as the parameter's type; undefined: nothing is given. */
function valueOf(p: ToolParameter, value: string | boolean | undefined): unknown {
  if (typeof value === "boolean") return value || undefined;
  if (!value) return undefined;
  if (p.choices) return p.choices.find((one) => String(one) === value);
  if (p.type === "number") return Number(value);
  if (p.type === "array") return linesOf(value).map((line) => (p.items === "number" ? Number(line) : p.items === "object" || p.items === "array" ? JSON.parse(line) : line));
  return p.type === "object" ? JSON.parse(value) : value;
}

function Control({ p, value, set }: { p: ToolParameter; value: string | boolean | undefined; set: (value: string | boolean) => void }) {
  const id = `try-${p.name}`;
  const hint = [p.description, p.required && t.tools.required, p.type === "array" && t.tools.lines, p.default !== undefined && t.tools.defaultIs(JSON.stringify(p.default))].filter(Boolean).join(" · ");
  const text = typeof value === "string" ? value : "";
  const control = p.type === "boolean" ? <input id={id} type="checkbox" checked={value === true} onChange={(e) => set(e.currentTarget.checked)} />
    : p.choices ? <select id={id} value={text} onChange={(e) => set(e.currentTarget.value)}><option value="" />{p.choices.map((one) => <option key={String(one)} value={String(one)}>{String(one)}</option>)}</select>
    : p.type === "number" ? <input id={id} type="number" step="any" value={text} required={p.required} onInput={(e) => set(e.currentTarget.value)} />
    : <textarea id={id} rows={p.type === "string" ? 1 : 3} value={text} spellcheck={false} required={p.required} onInput={(e) => set(e.currentTarget.value)} />;
  return <div class={`field ${p.type}`}><label for={id}><Strange text={p.name} /></label>{control}<p class="quiet"><Strange text={hint} /></p></div>;
}

async function readFile(file: File): Promise<Given> {
  const data = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
  return { name: file.name, base64: btoa(text), size: data.length };
}

const decode = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

function save(name: string, data: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name.split("/").pop() || "file";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Output({ title, text, encoding, name }: { title: string; text: string; encoding?: string; name: string }) {
  if (!text) return null;
  const blob = () => new Blob([encoding === "base64" ? decode(text) : text]);
  return (
    <section class="output">
      <header><h4>{title}</h4><button type="button" class="ghost" onClick={() => save(name, blob())}>{t.tools.save}</button></header>
      <Strange text={text} block />
    </section>
  );
}

function Answer({ tool, ran }: { tool: string; ran: Ran }) {
  return (
    <div class={`ran ${ran.success ? "well" : "ill"}`} role="status">
      <p><span class={`tag ${ran.success ? "good" : "bad"}`}>{t.tools.ended(ran.exitCode, duration(ran.stats?.wall_ms ?? 0))}</span></p>
      {ran.error && <p><Strange text={ran.error} /></p>}
      <Output title={t.tools.stdout} text={ran.stdout} encoding={ran.stdoutEncoding} name={`${tool}.out`} />
      <Output title={t.tools.stderr} text={ran.stderr} encoding={ran.stderrEncoding} name={`${tool}.err`} />
      {!ran.stdout && !ran.stderr && !ran.files?.length && <p class="quiet">{t.tools.nothing}</p>}
      {ran.files && ran.files.length > 0 && <section class="output"><h4>{t.tools.filesOut}</h4><ul class="files">{ran.files.map((f) => (
        <li key={f.name}><Strange text={f.name} /> <span class="quiet">{bytes(f.size)}</span>
          {(f.text ?? f.base64) !== undefined && <button type="button" class="ghost" onClick={() => save(f.name, new Blob([f.base64 ? decode(f.base64) : f.text!]))}>{t.tools.save}</button>}</li>
      ))}</ul></section>}
    </div>
  );
}

export function Try({ tool, vault }: { tool: Tool; vault: string }) {
  const [values, setValues] = useState<Values>({});
  const [files, setFiles] = useState<Given[]>([]);
  const [ran, setRan] = useState<Ran | null>(null);
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const choice = useRef<HTMLInputElement>(null);
  const set = (name: string) => (value: string | boolean) => setValues((was) => ({ ...was, [name]: value }));
  const add = (list: FileList | null | undefined) => void Promise.all([...(list ?? [])].map(readFile)).then((more) => setFiles((was) => [...was.filter((f) => !more.some((m) => m.name === f.name)), ...more]));
  const own = new Set(tool.parameters.map((p) => p.name));
  const run = async () => {
    setBusy(true);
    setFailed("");
    setRan(null);
    try {
      const body: Record<string, unknown> = {};
      for (const p of tool.parameters) {
        const value = valueOf(p, values[p.name]);
        if (value !== undefined) body[p.name] = value;
      }
      if (!own.has("args") && values["args "]) body.args = linesOf(String(values["args "]));
      if (!own.has("stdin")) body.stdin = String(values["stdin "] ?? "");
      if (!own.has("files") && files.length) body.files = Object.fromEntries(files.map((f) => [f.name, { base64: f.base64 }]));
      setRan(await runTool(vault, tool.name, body));
    } catch (e) {
      setFailed(e instanceof SyntaxError ? e.message : wordsOf(e));
    }
    setBusy(false);
  };
  return (
    <form class="try" onSubmit={(e) => { e.preventDefault(); void run(); }} onDragOver={(e) => { e.preventDefault(); e.stopPropagation(); }} onDrop={(e) => { e.preventDefault(); e.stopPropagation(); add(e.dataTransfer?.files); }}>
      <p class="quiet">{t.tools.tryHint}</p>
      {tool.parameters.map((p) => <Control key={p.name} p={{ ...p, required: false }} value={values[p.name]} set={set(p.name)} />)}
      {!own.has("args") && <div class="field"><label for="try-args-more">{t.tools.args}</label><textarea id="try-args-more" rows={1} spellcheck={false} value={String(values["args "] ?? "")} onInput={(e) => set("args ")(e.currentTarget.value)} /></div>}
      {!own.has("stdin") && <div class="field"><label for="try-stdin">{t.tools.stdin}</label><textarea id="try-stdin" rows={3} spellcheck={false} value={String(values["stdin "] ?? "")} onInput={(e) => set("stdin ")(e.currentTarget.value)} /></div>}
      <div class="field"><span class="label">{t.tools.filesIn}</span>
        <ul class="files">{files.map((f) => <li key={f.name}><Strange text={f.name} /> <span class="quiet">{bytes(f.size)}</span><button type="button" class="ghost" aria-label={t.close} onClick={() => setFiles(files.filter((one) => one !== f))}><Icon name="close" size={14} /></button></li>)}</ul>
        <button type="button" onClick={() => choice.current?.click()}>{t.tools.addFiles}</button>
        <input ref={choice} type="file" multiple hidden onChange={(e) => { add(e.currentTarget.files); e.currentTarget.value = ""; }} />
      </div>
      <button type="submit" class="primary" disabled={busy}><Icon name="play" size={15} />{busy ? t.tools.running : t.tools.run}</button>
      {failed && <p class="bad" role="alert"><Strange text={failed} /></p>}
      {ran && <Answer tool={tool.name} ran={ran} />}
    </form>
  );
}
