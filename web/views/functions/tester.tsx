// Tries a function: a control for each parameter, the result as a tree, and what earlier trials gave. A trial writes
// to a copy of the vault that is thrown away, unless the person says otherwise.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { choicesOf, getStats, readArgument, trial, tryUpdate, isRefused, type Definition, type Parameter, type Run, type Trial, type Trialled } from "../../core/functions";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { duration } from "../../core/time";
import { Unified } from "../../parts/diff";
import { Icon, Key, spell, Strange } from "../../parts/parts";
import { Tree } from "../../parts/tree";
import { Runs, whenRun } from "./runs";

interface Kept { at: number; texts: Record<string, string>; said: Trial; ms: number }
const kept = new Map<string, Kept[]>(); // of this visit, by vault and function
const KEPT_MAX = 20;
const PAGE = "page"; // its caller, as it is recorded

/** When the last trial was recorded that was there when this visit first looked, in ms, by vault and function. */
const lastBefore = new Map<string, number>();

/** Trials that were recorded, less those of this visit, which are listed with what was typed. No clock is asked: the
 * browser's may not be the server's. */
function useRecorded(vault: string, name: string): Run[] {
  const [runs, setRuns] = useState<Run[]>([]);
  const newest = useNewest([vault, name]);
  useEffect(() => {
    if (name) void newest(() => getStats(vault, name), (s) => {
      const where = `${vault} ${name}`, trials = (s.runs ?? []).filter((r) => r.trial), time = (r: Run) => Date.parse(whenRun(r));
      const last = lastBefore.get(where) ?? Math.max(0, ...trials.map(time));
      lastBefore.set(where, last);
      setRuns(trials.filter((r) => r.caller !== PAGE || time(r) <= last));
    });
  }, [vault, name]);
  return runs;
}

function Control({ id, p, text, bad, onText }: { id: string; p: Parameter; text: string; bad: boolean; onText: (text: string) => void }) {
  const type = p.type.replaceAll(" ", "");
  const choices = choicesOf(p.type);
  const given = p.default === undefined ? (p.optional ? t.functions.leftOut : "") : t.functions.byDefault(JSON.stringify(p.default));
  if (type === "boolean" || choices) return (
    <select id={id} value={text} aria-invalid={bad} onChange={(e) => onText(e.currentTarget.value)}>
      <option value="">{given || t.functions.choose}</option>{(choices ?? ["true", "false"]).map((c) => <option key={c} value={c}>{c}</option>)}</select>);
  if (type === "number") return <input id={id} type="number" step="any" value={text} placeholder={given} aria-invalid={bad} onInput={(e) => onText(e.currentTarget.value)} />;
  if (type === "string") return <textarea id={id} rows={text.includes("\n") || text.length > 60 ? 4 : 1} value={text} placeholder={given} aria-invalid={bad} spellcheck={false} onInput={(e) => onText(e.currentTarget.value)} />;
  return <textarea id={id} rows={3} value={text} placeholder={given || (type === "string[]" ? t.functions.linesOrJson : "JSON")} aria-invalid={bad} spellcheck={false} onInput={(e) => onText(e.currentTarget.value)} />;
}

interface Read { args: Record<string, unknown>; bad: Record<string, string> }
/** What is typed, as values; `bad`: what is wrong with a parameter, said as it is typed. */
function readAll(parameters: Record<string, Parameter>, texts: Record<string, string>): Read {
  const args: Record<string, unknown> = {};
  const bad: Record<string, string> = {};
  for (const [name, p] of Object.entries(parameters)) {
    const plain = name.replace(/^\.\.\./, "");
    try {
      const value = readArgument(p.type, texts[name] ?? "");
      if (value !== undefined) args[plain] = value;
      else if (!p.optional && p.default === undefined && !name.startsWith("...")) {
        if (p.type.trim() === "string") args[plain] = "";
        else bad[name] = t.functions.needed;
      }
    } catch {
      bad[name] = t.functions.isNo(p.type);
    }
  }
  return { args, bad };
}

function Examples({ said }: { said: Trial }) {
  const all = (said.examples ?? (Array.isArray(said.tests) ? said.tests : said.tests?.results) ?? []) as Trialled[];
  if (!all.length) return null;
  const well = (x: Trialled) => x.ok ?? x.passed ?? x.success ?? false;
  return <ul class="plain">{all.map((x, i) => <li key={i}><span class={`tag ${x.skipped ? "" : well(x) ? "good" : "bad"}`}>{x.skipped ? t.functions.skipped : well(x) ? t.functions.passed : t.functions.failed}</span> {x.name && <Strange text={x.name} />}{x.error && <Strange text={x.error} block />}{x.advice && <p class="quiet">{spell(x.advice)}</p>}</li>)}</ul>;
}

function Outcome({ one, dry }: { one: Kept; dry: boolean }) {
  const { said } = one;
  const e = said.errorDetails;
  const frame = e?.function?.frame ?? e?.frame;
  return (
    <div class="done" role="status">
      <p><span class={`tag ${said.success ? "good" : "bad"}`}>{said.success ? t.run.ok : spell(e?.type ?? t.run.failed)}</span>{dry && <span class="tag">{t.run.dryTag}</span>}<span class="quiet">{duration(said.executionTime ?? one.ms)}</span></p>
      {said.error && <section><h3>{t.run.error}</h3><Strange text={[said.error, frame, e?.suggestion].filter(Boolean).join("\n\n")} block /></section>}
      <Examples said={said} />
      {said.success && "result" in said && <section><h3>{t.run.result}</h3><Tree value={said.result} /></section>}
      {(said.logs?.length ?? 0) > 0 && <section><h3>{t.run.console}</h3><ul class="console">{said.logs!.map((l, i) => <li key={i} class={l.level}><span class="tag">{spell(l.level)}</span><Strange text={l.message} block /></li>)}</ul></section>}
      {(said.changes?.length ?? 0) > 0 && <section class="would"><h3>{t.run.wouldChange}</h3>{said.changes!.map((c) => (
        <section class="note-diff" key={c.path}><p class="note-head"><Icon name="note" size={15} /><Strange text={c.new_path ? `${c.path} → ${c.new_path}` : c.path} /><span class="tag">{t.run.action[c.action] ?? spell(c.action)}</span></p>
          {c.diff && <Unified lines={c.diff.replace(/\n$/, "").split("\n")} />}</section>))}</section>}
    </div>
  );
}

export function Tester({ vault, name, definition, stored, onSaved }: { vault: string; name: string; definition: Definition; stored: boolean; onSaved: () => void }) {
  const where = `${vault} ${name}`;
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [past, setPast] = useState<Kept[]>(kept.get(where) ?? []);
  const [chosen, setChosen] = useState<Kept | null>(null);
  const [since, setSince] = useState(0);
  const recorded = useRecorded(vault, stored ? name : "");
  const [dry, setDry] = useState(true);
  const running = useRef<AbortController | null>(null);
  const [, tick] = useState(0);
  const parameters = definition.parameters ?? {};
  const { args, bad } = useMemo(() => readAll(parameters, texts), [JSON.stringify(parameters), texts]);
  const hasBad = Object.keys(bad).length > 0;
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => { if (!since) return; const timer = setInterval(() => tick((n) => n + 1), 200); return () => clearInterval(timer); }, [since]);
  const run = async (examples: boolean) => {
    setTouched(new Set(Object.keys(parameters)));
    if (running.current || (!examples && hasBad)) return;
    const mine = new AbortController();
    running.current = mine;
    const began = performance.now();
    setSince(Date.now());
    try {
      const said = await trial(vault, stored ? name : null, stored ? null : definition, examples ? undefined : args, dry, mine.signal);
      const one = { at: Date.now(), texts, said, ms: performance.now() - began };
      const all = [one, ...(kept.get(where) ?? [])].slice(0, KEPT_MAX);
      kept.set(where, all);
      setPast(all);
      setChosen(one);
    } catch (e) {
      if (!mine.signal.aborted) toast(wordsOf(e), undefined, "bad");
    }
    running.current = null;
    setSince(0);
  };
  const save = async () => {
    if (!chosen) return;
    const example = { args, ...(chosen.said.success ? { expected: chosen.said.result ?? null } : { error: chosen.said.error ?? "" }) };
    const examples = [...(definition.examples ?? []), example];
    const said = await tryUpdate(vault, name, { examples }).catch((e) => ({ refused: { error: wordsOf(e) }, status: 0 }));
    if (isRefused(said)) { toast(said.refused.error ?? said.refused.detail ?? t.failed, undefined, "bad"); return; }
    toast(t.functions.exampleSaved(examples.length), { text: t.undo, run: () => void tryUpdate(vault, name, { examples: definition.examples ?? [] }).then(onSaved) });
    onSaved();
  };
  useKeys({ "ctrl Enter": () => void run(false), ...(since && { Escape: () => running.current?.abort() }) });
  const names = Object.keys(parameters);
  return (
    <div class="tester">
      <form class="try" onSubmit={(e) => { e.preventDefault(); void run(false); }} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); void run(false); } }} aria-label={t.functions.parts.try}>
        {!names.length && <p class="quiet">{t.functions.noParameters}</p>}
        {names.map((n) => (
          <div class="field" key={n}><label for={`arg-${n}`}><Strange text={n} /> <span class="quiet"><Strange text={parameters[n].type} /></span></label>
            <Control id={`arg-${n}`} p={parameters[n]} text={texts[n] ?? ""} bad={Boolean(bad[n]) && touched.has(n)} onText={(text) => { setTexts({ ...texts, [n]: text }); setTouched(new Set([...touched, n])); }} />
            {parameters[n].description && <p class="quiet"><Strange text={parameters[n].description!} /></p>}
            {bad[n] && touched.has(n) && <p class="bad" role="alert">{bad[n]}</p>}</div>
        ))}
        <div class="deeds">
          {since ? <><button type="button" onClick={() => running.current?.abort()}>{t.run.stop}<Key of="Esc" /></button><span class="quiet" role="status">{t.functions.running(duration(Date.now() - since))}</span></>
            : <button type="submit" class="primary"><Icon name="play" size={15} />{t.functions.try}<Key of="Ctrl ⏎" /></button>}
          {!since && (definition.examples?.length ?? 0) > 0 && <button type="button" onClick={() => void run(true)}>{t.functions.runExamples(definition.examples!.length)}</button>}
          {stored && <label class="inline"><input type="checkbox" checked={!dry} onChange={(e) => setDry(!e.currentTarget.checked)} />{t.functions.forReal}</label>}
        </div>
      </form>
      {chosen && <Outcome one={chosen} dry={chosen.said.dryRun !== false} />}
      {chosen && stored && "result" in chosen.said && <div class="deeds"><button type="button" onClick={() => void save()}>{t.functions.saveExample}</button></div>}
      {past.length > 1 && <section><h3>{t.functions.trials}</h3><ul class="plain runs">{past.map((one) => (
        <li key={one.at}><button type="button" class={one === chosen ? "chosen" : "ghost"} onClick={() => { setChosen(one); setTexts(one.texts); }}><span class={`tag ${one.said.success ? "good" : "bad"}`}>{one.said.success ? t.run.ok : t.run.failed}</span><Strange text={Object.values(one.texts).filter(Boolean).join(", ").slice(0, 60) || "–"} /><span class="quiet">{duration(one.said.executionTime ?? one.ms)}</span></button></li>
      ))}</ul></section>}
      {recorded.length > 0 && <section aria-label={t.functions.recorded}><h3>{t.functions.recorded}</h3><Runs of={recorded} /><p class="quiet">{t.functions.recordedHint}</p></section>}
    </div>
  );
}
