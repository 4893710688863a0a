// Runs a program over the notes, as an agent's would run: with its result, console, calls and time.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { serverNow } from "../../core/api";
import { useCheck, type Check } from "../../core/check";
import { checkCode, evaluate, type Evaluated, type Findings, type Mark } from "../../core/code";
import { undoCall } from "../../core/deeds";
import { hear } from "../../core/events";
import { useKeys } from "../../core/keys";
import { lastChange } from "../../core/notes";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes, duration } from "../../core/time";
import { CodeEditor, type Beginning } from "../../parts/editor";
import { Unified } from "../../parts/diff";
import { Checked, Empty, Icon, Key, Skeleton, spell, Strange } from "../../parts/parts";
import { Tree } from "../../parts/tree";
import { SaveForm } from "./save";

const CODE = "code";
const CALLS_SHOWN = 200;
const STOPPED_MS = 30_000; // a program that was stopped has ended by then
const EXAMPLES: Record<string, string> = {
  list: "const rows = await notes.list({limit: 20, order: 'updated'});\nreturn rows.map((n) => [n.title, n.updated]);",
  search: "const found = await notes.search({query: 'plan', limit: 10});\nreturn found.map((n) => ({note: n.id, where: n.excerpt}));",
  broken: "return await links.findBroken();",
  tasks: "const rows = await notes.list();\nconst all = await Promise.all(rows.map((row) => notes.get(row.id)));\nconst open = [];\nfor (const note of all) {\n  for (const line of note?.content.split('\\n') ?? [])\n    if (line.trim().startsWith('- [ ]')) open.push([note?.title, line.trim().slice(6)]);\n}\nreturn open;",
  sql: "const {rows} = await notes.searchSQL({query: 'SELECT type, count(*) AS n FROM notes GROUP BY type ORDER BY n DESC'});\nreturn rows;",
};

interface Done { said: Evaluated; undo: string; dry: boolean }

function Changes({ said }: { said: Evaluated }) {
  const all = said.changes ?? [];
  return (
    <section class="would"><h3>{t.run.wouldChange}</h3>
      {all.length === 0 && <p class="quiet">{t.run.changesNothing}</p>}
      {all.map((c) => (
        <section class="note-diff" key={c.path}>
          <p class="note-head"><Icon name="note" size={15} /><Strange text={c.new_path ? `${c.path} → ${c.new_path}` : c.path} /><span class="tag">{t.run.action[c.action] ?? spell(c.action)}</span></p>
          {c.diff !== undefined && c.diff !== "" && <Unified lines={c.diff.replace(/\n$/, "").split("\n")} />}
          {c.diff_truncated && <p class="quiet pad">{t.run.cut}</p>}
        </section>
      ))}
      {(said.changeCount ?? 0) > all.length && <p class="quiet">{t.run.more(said.changeCount! - all.length)}</p>}
    </section>
  );
}

function Result({ done, vault }: { done: Done; vault: string }) {
  const { said, undo, dry } = done;
  const s = said.stats ?? {};
  const facts = [said.executionTime !== undefined && duration(said.executionTime), s.compute_ms !== undefined && t.run.compute(duration(s.compute_ms)),
    s.host_calls !== undefined && t.run.calls(s.host_calls), s.peak_memory_bytes && bytes(s.peak_memory_bytes)].filter(Boolean).join(" · ");
  const more = said.errorDetails;
  const trace = said.trace ?? [];
  return (
    <div class="done" role="status">
      <p><span class={`tag ${said.success ? "good" : "bad"}`}>{said.success ? t.run.ok : spell(more?.type ?? t.run.failed)}</span>
        {dry && <span class="tag">{t.run.dryTag}</span>} <span class="quiet facts-line">{facts}</span>
        {undo && <button type="button" onClick={() => void undoCall(vault, undo)}><Icon name="undo" size={15} />{t.run.undo}</button>}</p>
      {said.error && <section><h3>{t.run.error}</h3><Strange text={[said.error, more?.frame, more?.suggestion].filter(Boolean).join("\n\n")} block /></section>}
      {said.success && <section><h3>{t.run.result}</h3><Tree value={said.result} /></section>}
      {dry && <Changes said={said} />}
      {said.logs?.length > 0 && <section><h3>{t.run.console}</h3><ul class="console">{said.logs.map((l, i) => <li key={i} class={l.level}><span class="tag">{spell(l.level)}</span><Strange text={l.message} block /></li>)}</ul></section>}
      {trace.length > 0 && <section><h3>{t.run.hostCalls}</h3><ol class="trace">{trace.slice(0, CALLS_SHOWN).map((c, i) => (
        <li key={i}><Strange text={String(c.name ?? c.call ?? "")} />{c.error && <span class="bad"> <Strange text={String(c.error)} /></span>}{typeof c.ms === "number" && <span class="quiet">{duration(c.ms)}</span>}</li>
      ))}</ol>{trace.length > CALLS_SHOWN && <p class="quiet">{t.run.more(trace.length - CALLS_SHOWN)}</p>}</section>}
    </div>
  );
}

/** The JSON object that the person writes; null: none, false: it is something else. */
function readContext(text: string): object | null | false {
  if (!text.trim()) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) && value;
  } catch {
    return false;
  }
}

/** A program that was stopped ends a moment later. What it had changed by then can be undone. */
function tellStopped(vault: string, since: string): void {
  toast(t.run.stopped);
  const look = () => void lastChange(vault, since).then((undo) => {
    if (!undo) return;
    off();
    toast(t.run.stoppedChanged, { text: t.undo, run: () => void undoCall(vault, undo) });
  }, () => {});
  const off = hear("record", ({ record }) => { if (record.caller === "page" && record.event === "call") look(); });
  setTimeout(off, STOPPED_MS);
  look();
}

function Problems({ check, marks }: { check: Check<Findings>; marks: Mark[] }) {
  if (check.state !== "found") return <Checked check={check} />;
  if (!marks.length) return <span class="quiet" role="status">{t.run.clean}</span>;
  const [first] = marks;
  const bad = marks.some((m) => m.severity === "error");
  return <span class={bad ? "bad" : "quiet"} role="status">{t.run.problems(marks.length)}: {first.line}:{first.column} {spell(first.message)}</span>;
}

export function RunView() {
  const vault = today.value?.vault ?? "";
  const [from, setFrom] = useState<Beginning>(() => ({ text: sessionStorage.getItem(CODE) ?? EXAMPLES.list }));
  const [code, setCode] = useState(from.text);
  const [language, setLanguage] = useState("javascript");
  const [level, setLevel] = useState("full");
  const [timeout, setTime] = useState("");
  const [memory, setMemory] = useState("");
  const [contextText, setContext] = useState("");
  const context = useMemo(() => readContext(contextText), [contextText]);
  const check = useCheck(vault && code.trim() ? (signal) => checkCode(vault, code, language, context || null, signal) : null, [vault, code, language, context]);
  const { found } = check;
  const marks = useMemo(() => (found ? [...found.findings, ...(found.types ?? [])].filter((m) => m.line) : []), [found]);
  const [done, setDone] = useState<Done | null>(null);
  const [failed, setFailed] = useState("");
  const [saving, setSaving] = useState(false);
  const running = useRef<AbortController | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => sessionStorage.setItem(CODE, code), [code]);
  useEffect(() => () => running.current?.abort(), []);
  const begin = (text: string) => { setCode(text); setFrom({ text }); };
  const run = async (dry: boolean) => {
    if (running.current || !vault || context === false) return;
    const mine = new AbortController();
    const since = serverNow();
    running.current = mine;
    setBusy(true);
    setFailed("");
    setDone(null);
    try {
      const body = { code, language, trace: true, ...(timeout && { timeout: Number(timeout) }), ...(memory && { memoryLimit: Number(memory) }), ...(context && { context }), ...(dry && { dryRun: true }) };
      const said = await evaluate(vault, level, body, mine.signal);
      setDone({ said, dry, undo: "" });
      if (!dry) void lastChange(vault, since).then((undo) => setDone((now) => (now?.said === said ? { ...now, undo } : now)), () => {});
    } catch (e) {
      if (mine.signal.aborted) { if (!dry) tellStopped(vault, since); } else setFailed(wordsOf(e));
    }
    running.current = null;
    setBusy(false);
  };
  useKeys({ "ctrl Enter": (e) => void run(e.shiftKey), Escape: () => running.current?.abort() });
  return (
    <div class="view run">
      <section class="run-code" aria-label={t.run.title}>
        <header class="tools-row">
          <h1>{t.run.title}</h1>
          <button type="button" disabled={!vault || busy || language === "python"} onClick={() => setSaving(!saving)} aria-expanded={saving}>{t.run.save}</button>
          {busy ? <button type="button" onClick={() => running.current?.abort()}>{t.run.stop}<Key of="Esc" /></button> : <>
            <button type="button" disabled={!vault || context === false} onClick={() => void run(true)}>{t.run.dry}</button>
            <button type="button" class="primary" disabled={!vault || context === false} onClick={() => void run(false)}><Icon name="play" size={15} />{t.run.run}<Key of="Ctrl ⏎" /></button></>}
        </header>
        <div class="run-options">
          <select aria-label={t.run.example} value="" onChange={(e) => { const text = EXAMPLES[e.currentTarget.value]; if (text) begin(text); e.currentTarget.value = ""; }}>
            <option value="">{t.run.example}…</option>{Object.keys(EXAMPLES).map((name) => <option key={name} value={name}>{t.run.examples[name]}</option>)}
          </select>
          <select aria-label={t.run.language} value={language} onChange={(e) => setLanguage(e.currentTarget.value)}><option value="javascript">JavaScript</option><option value="typescript">TypeScript</option><option value="python">Python</option></select>
          <select aria-label={t.run.level} value={level} onChange={(e) => setLevel(e.currentTarget.value)}>{Object.keys(t.run.levels).map((name) => <option key={name} value={name}>{t.run.levels[name]}</option>)}</select>
        </div>
        {saving && language !== "python" && <SaveForm vault={vault} code={code} context={context || null} close={() => setSaving(false)} />}
        <CodeEditor from={from} text={code} label={t.run.code} marks={marks} onChange={setCode} onRun={(dry) => void run(dry)} />
        <footer class="run-foot">
          <Problems check={check} marks={marks} />
          <label>{t.run.timeout}<input type="number" min={1} placeholder="5000" value={timeout} onInput={(e) => setTime(e.currentTarget.value)} /></label>
          <label>{t.run.memory}<input type="number" min={8} max={1024} placeholder="128" value={memory} onInput={(e) => setMemory(e.currentTarget.value)} /></label>
          <label class="wide">{t.run.context}<input type="text" value={contextText} placeholder='{"name": "value"}' spellcheck={false} aria-invalid={context === false} onInput={(e) => setContext(e.currentTarget.value)} /></label>
          {context === false && <span class="bad" role="alert">{t.run.contextBad}</span>}
        </footer>
      </section>
      <section class="run-result" aria-label={t.run.result} aria-busy={busy} tabIndex={0}>
        {failed && <p class="failure" role="alert"><Icon name="warn" /><Strange text={failed} /></p>}
        {done ? <Result done={done} vault={vault} /> : busy ? <Skeleton /> : !failed && <Empty icon="run" title={t.run.empty}><p class="quiet">{t.run.emptyHint}</p></Empty>}
      </section>
    </div>
  );
}
