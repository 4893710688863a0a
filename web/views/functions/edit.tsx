// Writes a function: its form, its code with what the server's checker finds, and a trial of the draft beside it.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useCheck, type Check } from "../../core/check";
import type { Mark } from "../../core/code";
import { Drafts } from "../../core/drafts";
import { getFunction, getTemplate, isRefused, listTemplates, readDefault, tryCreate, tryUpdate, validate, writeDefault, type Definition, type Finding, type Parameter, type Refused, type Template, type Told, type Validity } from "../../core/functions";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { go, goLater } from "../../core/router";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Conflict } from "../../parts/conflict";
import { CodeEditor, type Beginning } from "../../parts/editor";
import { Checked, Failure, Key, Skeleton, spell, Strange } from "../../parts/parts";
import { Tester } from "./tester";

interface Row extends Omit<Parameter, "default"> { name: string; default: string } // as it is typed
interface Draft { name: string; description: string; tags: string; returnType: string; rows: Row[]; code: string; language?: string; examples: Definition["examples"] }
const BLANK: Draft = { name: "", description: "", tags: "", returnType: "Promise<any>", rows: [], code: "async function name(): Promise<any> {\n  return await notes.list({ limit: 5 });\n}\n", examples: [] };

const draftOf = (f: Definition): Draft => ({
  name: f.name, description: f.description, tags: (f.tags ?? []).join(", "), returnType: f.returnType, code: f.code, language: f.language, examples: f.examples ?? [],
  rows: Object.entries(f.parameters ?? {}).map(([name, p]) => ({ name, ...p, default: writeDefault(p.type, p.default) })),
});
const TWICE = "twice";
/** What is no default of its parameter's type, and names that two have. */
const wrongIn = (rows: Row[]): Finding[] => rows.filter((r) => { try { readDefault(r.type, r.default); return false; } catch { return true; } })
  .map((r): Finding => ({ field: `parameters.${r.name}.default`, message: t.functions.noDefault(r.type) }))
  .concat(rows.filter((r, i) => r.name && rows.findIndex((other) => other.name === r.name) < i).map((r) => ({ field: `parameters.${r.name}`, code: TWICE, message: t.functions.twice })));
const versionOf = (f: Told["function"]): number => f.metadata.version ?? 0;
const defaultOf = (r: Row): unknown => { try { return readDefault(r.type, r.default); } catch { return undefined; } };
const definitionOf = (d: Draft): Definition => ({
  name: d.name, description: d.description, returnType: d.returnType, code: d.code, ...(d.language && { language: d.language }), tags: d.tags.split(",").map((x) => x.trim()).filter(Boolean),
  parameters: Object.fromEntries(d.rows.filter((r) => r.name).map((r) => {
    const value = defaultOf(r);
    return [r.name, { type: r.type, ...(r.description && { description: r.description }), ...(r.optional && { optional: true }), ...(value !== undefined && { default: value }) }];
  })),
  ...(d.examples?.length && { examples: d.examples }),
});

/** All of it as text, to be compared. */
const textOf = (d: Draft): string => [
  `${t.functions.name}: ${d.name}`, `${t.functions.description}: ${d.description}`, `${t.functions.tagsLabel}: ${d.tags}`,
  ...d.rows.map((r) => `${t.functions.parameter}: ${r.name}${r.optional ? "?" : ""}: ${r.type}${r.default && ` = ${r.default}`}${r.description ? ` // ${r.description}` : ""}`),
  `${t.functions.returns}: ${d.returnType}`, ...(d.examples ?? []).map((x) => `${t.functions.example}: ${JSON.stringify(x)}`), "", d.code,
].join("\n");

// ---- what is not saved yet ---------------------------------------------------------------

interface Kept { draft: Draft; version: number; note: string; template: string }
/** By the vault and the function, or "new". */
const drafts = new Drafts<Kept>("functions");
/** Another one: the editor begins anew. */
export const turn = signal(0);
const begins = (name: string): string => (name ? `/functions/${encodeURIComponent(name)}/edit` : "/functions?new");

/** Drops what was typed, if anything was, with its undo. */
function drop(key: string, name: string, text: string): void {
  const was = drafts.get(key);
  drafts.delete(key);
  if (was) toast(text, { text: t.undo, run: () => {
    drafts.set(key, was);
    go(`${begins(name)}${was.template ? `&template=${encodeURIComponent(was.template)}` : ""}`);
    turn.value++;
  } });
}

// ---- the form ------------------------------------------------------------------------------

function Parameters({ rows, findings, onRows }: { rows: Row[]; findings: Finding[]; onRows: (rows: Row[]) => void }) {
  const set = (at: number, more: Partial<Row>) => onRows(rows.map((r, i) => (i === at ? { ...r, ...more } : r)));
  const swap = (at: number, by: number) => { const all = [...rows]; [all[at], all[at + by]] = [all[at + by], all[at]]; onRows(all); };
  return (
    <fieldset class="fn-parameters"><legend>{t.functions.parameters}</legend>
      {rows.map((r, i) => {
        const bad = findings.filter((f) => f.field === `parameters.${r.name}` || f.field?.startsWith(`parameters.${r.name}.`));
        return (
          <div class="fn-parameter" key={i}>
            <input type="text" aria-label={t.functions.parameterName} placeholder={t.functions.parameterName} value={r.name} aria-invalid={bad.some((f) => f.code === TWICE)} spellcheck={false} onInput={(e) => set(i, { name: e.currentTarget.value })} />
            <input type="text" class="mono" aria-label={t.functions.type(spell(r.name))} placeholder="string" list="fn-types" value={r.type} spellcheck={false} onInput={(e) => set(i, { type: e.currentTarget.value })} />
            <input type="text" class="mono" aria-label={t.functions.defaultOf(spell(r.name))} placeholder={t.functions.default} value={r.default} aria-invalid={bad.some((f) => f.field?.endsWith(".default"))} spellcheck={false} onInput={(e) => set(i, { default: e.currentTarget.value })} />
            <label class="inline"><input type="checkbox" checked={Boolean(r.optional)} onChange={(e) => set(i, { optional: e.currentTarget.checked || undefined })} />{t.functions.optional}</label>
            <span class="fn-moves"><button type="button" class="ghost" disabled={!i} aria-label={t.functions.moveUp(spell(r.name))} onClick={() => swap(i, -1)}>↑</button><button type="button" class="ghost" disabled={i === rows.length - 1} aria-label={t.functions.moveDown(spell(r.name))} onClick={() => swap(i, 1)}>↓</button><button type="button" class="ghost" aria-label={t.functions.drop(spell(r.name))} onClick={() => onRows(rows.filter((_, k) => k !== i))}>×</button></span>
            <input type="text" class="wide" aria-label={t.functions.about(spell(r.name))} placeholder={t.functions.aboutIt} value={r.description ?? ""} onInput={(e) => set(i, { description: e.currentTarget.value || undefined })} />
            {bad.map((f, k) => <p class="bad" key={k}>{spell(f.message)}</p>)}
          </div>
        );
      })}
      <datalist id="fn-types">{["string", "number", "boolean", "string[]", "number[]", "Note", "Note[]", "Record<string, any>"].map((x) => <option key={x} value={x} />)}</datalist>
      <button type="button" onClick={() => onRows([...rows, { name: "", type: "string", default: "" }])}>{t.functions.addParameter}</button>
    </fieldset>
  );
}

/** Force helps against what breaks callers and against examples that fail, never against errors. */
const canForce = (r: Refused): boolean => !r.errors?.length && Boolean(r.breaking || r.tests);

function Breaks({ refused, onForce, onBack }: { refused: Refused; onForce: () => void; onBack: () => void }) {
  const callers = (refused.callers ?? []).map((c) => (typeof c === "string" ? c : String((c as { name?: string }).name ?? JSON.stringify(c))));
  return (
    <div class="answer confirm breaks" role="alertdialog" aria-label={t.functions.breaks}>
      <div><strong>{refused.breaking ? t.functions.breaks : t.functions.notKept}</strong>
        {refused.breaking ? <ul>{(refused.reasons ?? []).map((r, i) => <li key={i}><Strange text={r} /></li>)}</ul> : <p><Strange text={refused.error ?? refused.detail ?? ""} /></p>}
        {callers.length > 0 && <p>{t.functions.callers(callers.length)} <Strange text={callers.join(", ")} /></p>}
        {(refused.errors ?? []).map((f, i) => <p key={i}>{f.field && <code>{spell(f.field)}</code>} <Strange text={f.message} /></p>)}</div>
      <span class="gap" /><button type="button" onClick={onBack}>{t.functions.editOn}</button>
      {canForce(refused) && <button type="button" class="danger" onClick={onForce}>{t.functions.anyway}</button>}
    </div>
  );
}

function Problems({ check, errors }: { check: Check<Validity>; errors: Finding[] }) {
  const [first] = errors, warnings = check.found?.warnings ?? [];
  if (check.state === "failed" || check.state === "checking") return <Checked check={check} />;
  if (first) return <span class="bad" role="status">{t.run.problems(errors.length)}: {first.line ? `${first.line}:${first.column ?? 1} ` : ""}{spell(first.message)}</span>;
  if (check.state === "none") return null;
  return <span class="quiet" role="status">{warnings.length ? `${t.functions.warnings(warnings.length)}: ${spell(warnings[0].message)}` : t.run.clean}</span>;
}

export function Edit({ vault, name, template, done }: { vault: string; name: string; template: string; done: () => void }) {
  const isNew = !name;
  const key = `${vault} ${name || "new"}`;
  const [kept] = useState(() => drafts.get(key));
  const [draft, setDraft] = useState<Draft | null>(kept?.draft ?? (isNew && !template ? BLANK : null));
  const [from, setFrom] = useState<Beginning>({ text: kept?.draft.code ?? BLANK.code });
  const [version, setVersion] = useState(kept?.version ?? 0);
  const begun = useRef(kept !== undefined);
  const [templates, setTemplates] = useState<Template[]>([]);
  const [failed, setFailed] = useState("");
  const [refused, setRefused] = useState<Refused | null>(null);
  const [theirs, setTheirs] = useState<Told["function"] | null>(null); // as somebody else has saved it meanwhile
  const [note, setNote] = useState(kept?.note ?? "");
  const [dirty, setDirty] = useState(kept !== undefined);
  const begin = (f: Definition) => { const d = draftOf(f); setDraft(d); setFrom({ text: d.code }); setDirty(false); };
  const newest = useNewest([vault, name, template]);
  const look = () => {
    setFailed("");
    if (template) void newest(() => getTemplate(vault, template), (x) => begin(("function" in x ? x.function : x) as Definition), (e) => setFailed(wordsOf(e)));
    else if (!isNew) void newest(() => getFunction(vault, name), (x) => { begin(x.function); setVersion(versionOf(x.function)); }, (e) => setFailed(wordsOf(e)));
  };
  useEffect(() => { if (begun.current) begun.current = false; else if (vault) look(); }, [vault, name, template]);
  useLayoutEffect(() => { if (dirty && draft) drafts.set(key, { draft, version, note, template }); }, [dirty, draft, version, note]);
  useEffect(() => { if (isNew && vault) listTemplates(vault).then(setTemplates, () => {}); }, [vault]);
  const definition = useMemo(() => (draft ? definitionOf(draft) : null), [draft]);
  const check = useCheck(definition && vault && (dirty || !isNew) ? (signal) => validate(vault, definition, signal) : null, [definition, vault]);
  const { found } = check;
  const others = (f: Finding) => !(f.code === "taken" || (!isNew && f.field === "name" && draft?.name === name && /there already/.test(f.message)));
  const wrong = useMemo(() => (draft ? wrongIn(draft.rows) : []), [draft?.rows]);
  const errors = [...wrong, ...(refused?.errors ?? found?.errors ?? []).filter(others)];
  const marks = useMemo<Mark[]>(() => [...errors.map((f) => ({ ...f, severity: "error" })), ...(found?.warnings ?? []).map((f) => ({ ...f, severity: "warning" }))]
    .filter((f) => f.line && (!f.field || f.field === "code")).map((f) => ({ line: f.line!, column: f.column ?? 1, severity: f.severity, message: f.message, suggestion: f.suggestion })), [found, refused]);
  const set = (more: Partial<Draft>) => { setDirty(true); setRefused(null); setDraft((d) => (d ? { ...d, ...more } : d)); };
  const leave = () => { drop(key, name, t.functions.discarded); go(isNew ? "/functions" : `/functions/${encodeURIComponent(name)}`); };
  const anew = () => { drop(key, name, t.functions.discarded); turn.value++; };
  const choose = (one: string) => { drop(key, name, t.functions.replaced); go(`/functions?new${one ? `&template=${encodeURIComponent(one)}` : ""}`, "replace"); if (!one) turn.value++; };
  const latest = useRef(draft);
  latest.current = draft;
  const saving = useRef(false);
  const save = async (force: boolean, base = version) => {
    if (!definition || saving.current) return;
    if (wrong.length) {
      document.querySelector<HTMLElement>(".fn-parameter [aria-invalid=true]")?.focus();
      return;
    }
    setFailed("");
    saving.current = true;
    const later = goLater();
    try {
      const { name: newName, ...fields } = definition;
      const said = isNew ? await tryCreate(vault, definition, force)
        : await tryUpdate(vault, name, { ...fields, ...(newName !== name && { newName }), ...(base && { expectedVersion: base }), ...(note && { note }), ...(force && { force }) });
      if (isRefused(said)) {
        const there = said.status === 409 && base ? (await getFunction(vault, name)).function : null;
        if (there && versionOf(there) !== base) setTheirs(there);
        else setRefused(said.refused);
        return;
      }
      toast(isNew ? t.functions.created(spell(newName)) : t.functions.saved(spell(newName)));
      drafts.delete(key);
      const typed = latest.current; // meanwhile: it stays to be saved
      if (typed && typed !== draft) drafts.set(`${vault} ${newName}`, { draft: typed, version: said.version ?? 0, note: "", template: "" });
      done();
      if (typed && typed !== draft && newName === name) setVersion(said.version ?? 0);
      else later(typed && typed !== draft ? begins(newName) : `/functions/${encodeURIComponent(newName)}`);
    } catch (e) {
      setFailed(wordsOf(e));
    } finally {
      saving.current = false;
    }
  };
  useKeys({ "ctrl s": () => void save(false), Escape: () => { if (refused) setRefused(null); else if (!dirty && !document.activeElement?.closest(".editor")) leave(); } });
  if (!draft) return <div class="view">{failed ? <Failure text={failed} retry={look} /> : <Skeleton />}</div>;
  if (theirs) {
    const back = () => { setVersion(versionOf(theirs)); setTheirs(null); };
    const take = () => { drop(key, name, t.functions.discarded); begin(theirs); setNote(""); back(); };
    const keep = () => { back(); void save(false, versionOf(theirs)); };
    return <div class="view"><Conflict words={t.functions} theirs={textOf(draftOf(theirs))} mine={textOf(draft)} keep={keep} take={take} back={back} /></div>;
  }
  const elsewhere = errors.filter((f) => f.field !== "code" && !f.field?.startsWith("parameters."));
  return (
    <div class="view fn-edit">
      <header class="line-row"><h1>{isNew ? t.functions.newTitle : <>{t.functions.editTitle} <Strange text={name} /></>}</h1>
        {isNew && templates.length > 0 && <select aria-label={t.functions.template} value={template} onChange={(e) => choose(e.currentTarget.value)}><option value="">{t.functions.template}…</option>{templates.map((x) => <option key={x.template} value={x.template} title={spell(x.description)}>{spell(x.template)}</option>)}</select>}
        <button type="button" onClick={leave}>{t.cancel}</button>
        <button type="button" class="primary" disabled={!draft.name || !draft.description} onClick={() => void save(false)}>{t.functions.save}<Key of="Ctrl S" /></button></header>
      {kept && dirty && <p class="note-line fn-kept" role="status">{t.functions.kept} <button type="button" onClick={anew}>{t.functions.discard}</button></p>}
      {failed && <Failure text={failed} />}
      {refused && <Breaks refused={refused} onForce={() => void save(true)} onBack={() => setRefused(null)} />}
      <div class="fn-form">
        <label>{t.functions.name}<input type="text" class="mono" value={draft.name} maxLength={64} spellcheck={false} required onInput={(e) => set({ name: e.currentTarget.value })} /></label>
        <label>{t.functions.tagsLabel}<input type="text" value={draft.tags} placeholder={t.functions.tagsHint} onInput={(e) => set({ tags: e.currentTarget.value })} /></label>
        <label>{t.functions.returns}<input type="text" class="mono" value={draft.returnType} list="fn-results" spellcheck={false} onInput={(e) => set({ returnType: e.currentTarget.value })} /></label>
        <datalist id="fn-results">{["Promise<Note>", "Promise<Note[]>", "Promise<string>", "Promise<number>", "Promise<void>", "Promise<any>", "string", "number"].map((x) => <option key={x} value={x} />)}</datalist>
        <label class="wide">{t.functions.description}<input type="text" value={draft.description} required onInput={(e) => set({ description: e.currentTarget.value })} /></label>
        {!isNew && <label class="wide">{t.functions.why}<input type="text" value={note} onInput={(e) => { setNote(e.currentTarget.value); setDirty(true); }} /></label>}
        <Parameters rows={draft.rows} findings={errors} onRows={(rows) => set({ rows })} />
        {elsewhere.map((f, i) => <p class="bad wide" key={i}>{f.field && <code>{spell(f.field)}</code>} <Strange text={[f.message, f.suggestion].filter(Boolean).join(". ")} /></p>)}
      </div>
      <div class="fn-work">
        <section class="fn-code" aria-label={t.functions.parts.code}>
          <CodeEditor from={from} text={draft.code} label={t.functions.parts.code} marks={marks} onChange={(code) => set({ code })} onRun={() => void save(false)} />
          <div class="run-foot"><Problems check={check} errors={errors} /></div>
        </section>
        <section class="fn-side" aria-label={t.functions.parts.try}><h2>{t.functions.parts.try}</h2>{definition && <Tester vault={vault} name={name || "draft"} definition={definition} stored={false} onSaved={() => {}} />}</section>
      </div>
    </div>
  );
}
