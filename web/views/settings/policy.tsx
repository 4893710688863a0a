// The policy: every key with a sentence, its value and where that comes from; several changes are tried as they are
// typed, shown as the file that they would make, and saved together.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hear, hearAgain } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useLeaving } from "../../core/leaving";
import { useNewest } from "../../core/newest";
import { changePolicy, getPolicy, kindOf, schemaOf, tryPolicy, type Edit, type KeyValue, type PolicyAnswer, type Problem, type Schema, type Tried } from "../../core/rights";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import type { Confirmation } from "../../core/types";
import { Diff } from "../../parts/diff";
import { Confirm, Empty, Failure, Icon, Skeleton, spell, Strange } from "../../parts/parts";
import { Secrets } from "./secrets";

const CALM_MS = 250; // after the last key: then it is tried
const SECRETS = "network.secrets";

/** Where a key stands: the first part of its name, in the order of t.settings.groups. */
function groupOf(key: string): string {
  const first = key.split(".")[0];
  return Object.keys(t.settings.groups).find((g) => t.settings.groups[g].keys.includes(first)) ?? "other";
}

/** A value in a few words. */
function brief(value: unknown): string {
  if (value === null) return t.settings.all;
  if (typeof value === "boolean") return value ? t.settings.on : t.settings.off;
  if (typeof value === "number") return value.toLocaleString();
  if (Array.isArray(value)) return value.length ? value.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(", ") : t.settings.none;
  if (typeof value === "object") return Object.keys(value as object).length ? Object.entries(value as object).map(([k, v]) => (typeof v === "string" ? `${k}: ${v}` : k)).join(", ") : t.settings.none;
  return String(value);
}

// ---- a field -------------------------------------------------------------------------

const textOf = (value: unknown, lines: boolean): string =>
  lines ? (Array.isArray(value) ? value.join("\n") : "") : typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2);

/** What was typed and is no value; it is there again when its row is opened. */
interface Bad { why: string; text: string }
interface FieldProps { id: string; schema: Schema; value: unknown; bad: Bad | undefined; onValue: (value: unknown) => void; onBad: (bad: Bad) => void }

function Field({ id, schema, value, bad, onValue, onBad }: FieldProps) {
  const kind = kindOf(schema);
  const [text, setText] = useState(() => bad?.text ?? textOf(value, kind === "lines"));
  if (kind === "switch") return <select id={id} value={String(value)} onChange={(e) => onValue(e.currentTarget.value === "true")}><option value="true">{t.settings.on}</option><option value="false">{t.settings.off}</option></select>;
  if (kind === "word") return <select id={id} value={String(value)} onChange={(e) => onValue(e.currentTarget.value)}>{schema.enum!.map((word) => <option key={word} value={word}>{word}</option>)}</select>;
  if (kind === "number") return <input id={id} type="number" min={schema.minimum} max={schema.maximum} value={text} onInput={(e) => { const { value: now, valueAsNumber: n } = e.currentTarget; setText(now); if (Number.isNaN(n)) onBad({ why: t.settings.noNumber, text: now }); else onValue(n); }} />;
  const read = (now: string) => {
    setText(now);
    if (kind === "lines") {
      const lines = now.split("\n").map((line) => line.trim()).filter(Boolean);
      onValue(!lines.length && schema.default === null ? null : lines);
    } else if (kind === "url") onValue(now.trim() || null);
    else {
      try {
        onValue(JSON.parse(now));
      } catch (e) {
        onBad({ why: t.settings.noJson((e as Error).message), text: now });
      }
    }
  };
  if (kind === "url") return <input id={id} type="text" value={text} spellcheck={false} onInput={(e) => read(e.currentTarget.value)} />;
  return (
    <>
      <textarea id={id} rows={Math.min(Math.max(text.split("\n").length + 1, 3), 14)} value={text} spellcheck={false} onInput={(e) => read(e.currentTarget.value)} />
      <p class="quiet">{kind === "lines" ? (schema.default === null ? t.settings.linesAll : t.settings.lines) : t.settings.json}</p>
    </>
  );
}

// ---- a key ---------------------------------------------------------------------------

interface RowProps {
  one: KeyValue; schema: Schema; scope: string; edit: Edit | undefined; bad: Bad | undefined; problem: Problem | undefined;
  wanted: object | null; // another one: the row is opened
  turn: number; // another one: its field begins anew
  onEdit: (edit: Edit | null) => void; onBad: (bad: Bad | null) => void;
}

function Row({ one, schema, scope, edit, bad, problem, wanted, turn, onEdit, onBad }: RowProps) {
  const [open, setOpen] = useState(false);
  useEffect(() => { if (wanted) setOpen(true); }, [wanted]);
  useEffect(() => { if (wanted && open) document.getElementById(id)?.focus(); }, [wanted, open]);
  const id = `key-${one.key.replaceAll(".", "-")}`;
  const fixed = Boolean(scope) && !one.vaultMay;
  const own = one.from === (scope ? "vault" : "user") || (Boolean(scope) && one.and !== undefined);
  const said = bad?.why || problem?.message || "";
  const begun = edit && "value" in edit ? edit.value : scope && one.and !== undefined ? one.and : one.value;
  return (
    <li class={`key-row${open ? " open" : ""}${edit ? " edited" : ""}`}>
      <div class="key-line">
        <div class="key-name"><code>{one.key}</code><p class="quiet">{one.summary}</p></div>
        <div class="key-value"><Strange text={brief(one.value)} />{one.and !== undefined && one.and !== null && <span class="quiet"> {t.settings.andVault} <Strange text={brief(one.and)} /></span>}</div>
        <span class={`tag${one.from === "default" ? "" : " good"}`}>{t.settings.from[one.and !== undefined ? "vault" : one.from]}</span>
        <button type="button" class="ghost" aria-expanded={open} aria-controls={`${id}-box`} disabled={fixed} title={fixed ? t.settings.userOnly : ""} onClick={() => setOpen(!open)}>{t.settings.edit}<span class="visually-hidden"> {one.key}</span></button>
      </div>
      {open && (
        <div class="key-edit" id={`${id}-box`}>
          <label for={id} class="visually-hidden">{one.key}</label>
          <Field key={turn} id={id} schema={schema} value={begun} bad={bad} onValue={(value) => { onBad(null); onEdit({ key: one.key, value }); }} onBad={onBad} />
          <div class="deeds">
            {own && <button type="button" onClick={() => { onBad(null); onEdit({ key: one.key }); setOpen(false); }}>{t.settings.unset}</button>}
            {(edit || bad) && <button type="button" onClick={() => { onBad(null); onEdit(null); setOpen(false); }}>{t.settings.leave}</button>}
            {schema.minimum !== undefined && <span class="quiet">{t.settings.range(schema.minimum, schema.maximum!)}</span>}
          </div>
          {said && <p class="bad" role="alert"><Strange text={said} /></p>}
        </div>
      )}
      {bad && !edit && !open && <p class="key-pending bad"><Strange text={bad.why} /></p>}
      {edit && !open && <p class="key-pending">{t.settings.pending} {"value" in edit ? <Strange text={brief(edit.value)} /> : t.settings.usual}{said && <span class="bad"> <Strange text={said} /></span>}</p>}
    </li>
  );
}

// ---- what is changed -----------------------------------------------------------------

interface PendingProps { tried: Tried | null; before: string; count: number; busy: boolean; asked: Confirmation | null; bad: [string, Bad][]; save: (confirm?: string) => void; drop: () => void; open: (key: string) => void; onNo: () => void }

function Wrong({ name, why, open }: { name: string; why: string; open: (key: string) => void }) {
  return <p class="bad" role="alert">{name && <code>{name}</code>} <Strange text={why} /> {name && !name.startsWith(SECRETS) && <button type="button" class="ghost" onClick={() => open(name)}>{t.settings.openKey}<span class="visually-hidden"> {name}</span></button>}</p>;
}

function Pending({ tried, before, count, busy, asked, bad, save, drop, open, onNo }: PendingProps) {
  const errors = tried?.problems.filter((p) => p.severity === "error") ?? [];
  const wider = tried?.changes?.filter((c) => c.wider).map((c) => c.key) ?? [];
  return (
    <section class="pending card" aria-label={t.settings.changes}>
      <header><h2>{t.settings.changed(count)}</h2>
        {!asked && <><button type="button" onClick={drop}>{t.settings.discard}</button>
          <button type="button" class="primary" disabled={busy || bad.length > 0 || !tried?.ok} onClick={() => save()}>{t.settings.save}</button></>}
      </header>
      {wider.length > 0 && <p class="wider"><Icon name="warn" size={16} /><span>{t.wider}: {wider.map((k) => <code key={k}>{k}</code>)}</span></p>}
      {bad.map(([key, { why }]) => <Wrong key={key} name={key} why={why} open={open} />)}
      {errors.filter((p) => !bad.some(([key]) => key === p.key)).map((p, i) => <Wrong key={i} name={p.key} why={p.message} open={open} />)}
      {tried?.problems.filter((p) => p.severity === "warning").map((p, i) => <p class="quiet" key={i}><Strange text={p.message} /></p>)}
      {tried && !errors.length && !bad.length && <><h3>{t.settings.fileAfter}</h3><Diff before={before} after={tried.text} /></>}
      {asked && <Confirm wider sentence={asked.sentence} yes={t.settings.save} off={busy} onYes={() => save(asked.confirm)} onNo={onNo} />}
    </section>
  );
}

/** Edits that are not saved yet, by the policy they are of: they are there again when one comes back. */
const kept = signal<ReadonlyMap<string, Edit[]>>(new Map());
const NONE: Edit[] = [];
const put = (scope: string, next: (all: Edit[]) => Edit[]) => { kept.value = new Map(kept.value).set(scope, next(kept.value.get(scope) ?? NONE)); };
const isSame = (a: Edit, b: Edit): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What takes the edits back: the values of the file as it was. null: it holds a secret, whose value is not known here. */
function reverse(edits: Edit[], before: string): Edit[] | null {
  if (edits.some((e) => e.key.startsWith(SECRETS))) return null;
  const file = JSON.parse(before || "{}") as Record<string, unknown>;
  return edits.map(({ key }) => {
    const value = key.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], file);
    return value === undefined ? { key } : { key, value };
  });
}

// ---- the view ------------------------------------------------------------------------

export function PolicyView() {
  const vault = today.value?.vault ?? "";
  const [inVault, setInVault] = useState(false);
  const scope = inVault ? vault : "";
  const [policy, setPolicy] = useState<PolicyAnswer | null>(null);
  const [failed, setFailed] = useState("");
  const [words, setWords] = useState("");
  const [unusual, setUnusual] = useState(false);
  const edits = kept.value.get(scope) ?? NONE;
  const [bad, setBad] = useState<Record<string, Bad>>({});
  const [wanted, setWanted] = useState<{ key: string } | null>(null);
  const [turn, setTurn] = useState(0);
  const [tried, setTried] = useState<Tried | null>(null);
  const [before, setBefore] = useState("");
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState<Confirmation | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const now = useRef(scope);
  now.current = scope;
  const newest = useNewest([scope]);
  const newestFile = useNewest([scope]);
  const newestTrial = useNewest([scope, edits]);
  const look = () => {
    void newest((signal) => getPolicy(scope, signal), (p) => { setPolicy(p); setFailed(""); }, (e) => setFailed(wordsOf(e)));
    void newestFile((signal) => tryPolicy(scope, [], signal), (p) => setBefore(p.text), () => setBefore(""));
  };
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => { setBad({}); setAsked(null); setWanted(null); look(); }, [scope]);
  useEffect(() => hear("settings", look), [scope]);
  useEffect(() => hearAgain(look), [scope]);
  useEffect(() => {
    setAsked(null);
    if (!edits.length) { setTried(null); return; }
    const timer = setTimeout(() => void newestTrial((signal) => tryPolicy(scope, edits, signal), setTried, (e) => toast(wordsOf(e), undefined, "bad")), CALM_MS);
    return () => clearTimeout(timer);
  }, [edits, scope]);
  useKeys({ "/": () => search.current?.focus(), Escape: () => setAsked(null) });
  const edit = (key: string, now: Edit | null) => put(scope, (all) => { const rest = all.filter((e) => e.key !== key); return now ? [...rest, now] : rest; });
  const wrong = Object.entries(bad);
  const begun = edits.length > 0 || wrong.length > 0;
  useLeaving(begun);
  const drop = () => {
    const was = edits;
    put(scope, () => NONE);
    setBad({});
    setTurn((n) => n + 1);
    if (was.length) toast(t.settings.discarded, { text: t.undo, run: () => {
      put(scope, () => was);
      if (now.current === scope) setTurn((n) => n + 1);
    } });
  };
  const open = (key: string) => { setWords(""); setUnusual(false); setWanted({ key }); };
  const make = async (which: Edit[], confirm: string | undefined, isUndo: boolean): Promise<void> => {
    setBusy(true);
    try {
      const more = await changePolicy(scope, which, confirm);
      if (now.current === scope) setAsked(more);
      if (more && isUndo) put(scope, (all) => [...all.filter((e) => which.every((one) => one.key !== e.key)), ...which]); // it widens: the person sees it as a change of its own
      if (!more) {
        const back = reverse(which, before);
        toast(isUndo ? t.settings.takenBack : t.settings.saved, !isUndo && back ? { text: t.undo, run: () => void make(back, undefined, true) } : undefined);
        put(scope, (all) => all.filter((e) => !which.some((sent) => isSame(sent, e)))); // what was typed meanwhile stays
        latest.current();
      }
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
    }
    setBusy(false);
  };
  const groups = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const all = (policy?.shown?.values ?? []).filter((v) => v.key !== SECRETS && (!unusual || v.from !== "default" || v.and !== undefined)
      && wanted.every((w) => `${v.key} ${v.summary}`.toLowerCase().includes(w)));
    return Object.keys(t.settings.groups).map((g) => ({ g, rows: all.filter((v) => groupOf(v.key) === g) })).filter(({ rows }) => rows.length);
  }, [policy, words, unusual]);
  if (failed) return <Failure text={failed} retry={look} />;
  if (!policy) return <Skeleton lines={10} />;
  const problems = policy.shown?.problems ?? policy.check?.problems ?? [];
  const secrets = policy.shown?.values.find((v) => v.key === SECRETS);
  const shows = !words && !unusual;
  return (
    <div class={`policy${begun ? " has-pending" : ""}`}>
      <div class="policy-main">
        <div class="line-row">
          <input ref={search} type="search" value={words} placeholder={t.settings.search} aria-label={t.settings.search} onInput={(e) => setWords(e.currentTarget.value)} />
          <label class="inline">{t.settings.scope}<select value={inVault ? "vault" : ""} onChange={(e) => setInVault(e.currentTarget.value === "vault")}>
            <option value="">{t.settings.scopes.user}</option><option value="vault" disabled={!vault}>{t.settings.scopes.vault}</option></select></label>
          <label class="inline"><input type="checkbox" checked={unusual} onChange={(e) => setUnusual(e.currentTarget.checked)} />{t.settings.unusual}</label>
        </div>
        <p class="quiet">{inVault ? t.settings.leadVault : t.settings.lead}</p>
        {!policy.shown && <Failure text={policy.why ?? ""} retry={look} />}
        {problems.map((p, i) => <p class={p.severity === "error" ? "failure" : "note-line"} key={i}><Strange text={`${p.file}:${p.line}:${p.column}: ${p.message}`} /></p>)}
        {shows && secrets && !inVault && <Secrets value={secrets.value as Record<string, never>} onEdit={(name, now) => edit(`${SECRETS}.${name}`, now)} pending={edits.filter((e) => e.key.startsWith(`${SECRETS}.`))} />}
        {policy.shown && !groups.length && <Empty icon="search" title={unusual && !words ? t.settings.allUsual : t.settings.noMatch}><button type="button" onClick={() => { setWords(""); setUnusual(false); }}>{t.settings.showAll}</button></Empty>}
        {groups.map(({ g, rows }) => (
          <section key={g} aria-label={t.settings.groups[g].title}><h2>{t.settings.groups[g].title}</h2>
            <ul class="card keys-list">{rows.map((v) => (
              <Row key={`${scope} ${v.key}`} one={v} schema={schemaOf(policy.schema, v.key)} scope={scope} edit={edits.find((e) => e.key === v.key)} bad={bad[v.key]} wanted={wanted?.key === v.key ? wanted : null} turn={turn}
                problem={tried?.problems.find((p) => p.key === v.key)} onEdit={(now) => edit(v.key, now)} onBad={(now) => setBad(({ [v.key]: _, ...rest }) => (now ? { ...rest, [v.key]: now } : rest))} />
            ))}</ul>
          </section>
        ))}
        {policy.shown && <p class="quiet files-line">{policy.shown.files.map((f) => <span key={f.from}>{t.settings.fileOf[f.from]} <code>{spell(f.file)}</code>{!f.there && ` (${t.settings.notThere})`}</span>)}</p>}
      </div>
      {begun && <Pending tried={tried} before={before} count={new Set([...edits.map((e) => e.key), ...Object.keys(bad)]).size} busy={busy} asked={asked} bad={wrong} save={(confirm) => void make(edits, confirm, false)} drop={drop} open={open} onNo={() => setAsked(null)} />}
    </div>
  );
}
