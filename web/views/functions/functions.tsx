// Custom functions: the list of them, and what one of them is, does and was.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { exportFunctions, listFunctions, type FunctionRow } from "../../core/functions";
import { hear, hearAgain } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { go, place } from "../../core/router";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Empty, Failure, Icon, NoVault, Skeleton, spell, Strange, Time } from "../../parts/parts";
import { Rows } from "../../parts/rows";
import { Detail } from "./detail";
import { Edit, turn } from "./edit";
import { Import } from "./import";
import { removeWithUndo, saveFile } from "./deeds";

const HEIGHT = 56;
const idOf = (f: FunctionRow): string => f.id + f.name;
const FIRST = 60; // rows that are shown before all are there
const MOST = 1000; // rows of a list; a vault has at most twice as many functions
const TYPING_MS = 180;
const SORTS = ["name", "createdAt", "usageCount", "lastUsed"];

function Row({ f, chosen, marked, onMark }: { f: FunctionRow; chosen: boolean; marked: boolean; onMark: () => void }) {
  const used = f.metadata.usageCount ?? 0;
  return (
    <div class={`fn-row${chosen ? " chosen" : ""}`}>
      <input type="checkbox" checked={marked} aria-label={t.functions.mark(spell(f.name))} onChange={onMark} disabled={Boolean(f.origin)} />
      <a href={`/functions/${encodeURIComponent(f.name)}`} aria-current={chosen ? "true" : undefined}>
        <span class="fn-name"><Strange text={f.name} />{f.tags.slice(0, 3).map((tag) => <span class="tag" key={tag}>{spell(tag)}</span>)}{f.origin && <span class="tag">{t.functions.library}</span>}</span>
        <span class="fn-about"><Strange text={f.description} /></span>
        <span class="fn-used quiet">{used ? <>{t.calls(used)}{f.metadata.lastUsed && <>, <Time time={f.metadata.lastUsed} /></>}</> : t.functions.neverUsed}</span>
      </a>
    </div>
  );
}

interface Asked { words: string; tag: string; by: string; usage: string; sort: string; up: boolean }
const START: Asked = { words: "", tag: "", by: "", usage: "", sort: "name", up: true };
const MONTH_MS = 30 * 86400000;

function ofUsage(usage: string): object {
  const month = new Date(Date.now() - MONTH_MS).toISOString();
  return usage === "never" ? { maxUsage: 0 } : usage === "recent" ? { usedSince: month } : usage === "old" ? { unusedSince: month } : usage === "often" ? { minUsage: 10 } : {};
}

export function FunctionsView() {
  const vault = today.value?.vault ?? "";
  const [, name, deed] = place.value.parts;
  const query = place.value.query;
  const [asked, setAsked] = useState(START);
  const [words, setWords] = useState("");
  const [rows, setRows] = useState<FunctionRow[] | null>(null);
  const [all, setAll] = useState<FunctionRow[]>([]);
  const [failed, setFailed] = useState("");
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [importing, setImporting] = useState(false);
  const [version, setVersion] = useState(0);
  const search = useRef<HTMLInputElement>(null);
  /** At first those that fit a screen, so that all of many are not waited for. */
  const newest = useNewest([vault, asked]);
  const look = () => {
    if (!vault) return;
    const { tag, by, usage, sort, up } = asked;
    const ask = (limit: number, signal: AbortSignal) => listFunctions(vault, { query: asked.words || undefined, tags: tag || undefined, createdBy: by || undefined, sort, order: up ? "asc" : "desc", limit, ...ofUsage(usage) }, signal);
    void newest(async (signal) => {
      const first = rows ? null : await ask(FIRST, signal);
      if (first && !signal.aborted) setRows((was) => was ?? first);
      return first && first.length < FIRST ? first : ask(MOST, signal);
    }, (list) => {
      setRows(list);
      if (JSON.stringify({ ...asked, sort: "name", up: true }) === JSON.stringify(START)) setAll(list);
      setFailed("");
    }, (e) => setFailed(wordsOf(e)));
  };
  useEffect(() => { const timer = setTimeout(() => setAsked((was) => (was.words === words ? was : { ...was, words })), TYPING_MS); return () => clearTimeout(timer); }, [words]);
  useEffect(() => { setRows(null); setAll([]); setMarked(new Set()); }, [vault]);
  useEffect(look, [vault, asked, version]);
  const again = () => setVersion((n) => n + 1);
  useEffect(() => hearAgain(again), []);
  useEffect(() => hear("record", ({ record }) => { if (record.functions_changed || record.functions) again(); }), []);
  const shown = rows ?? [];
  const at = shown.findIndex((f) => f.name === name);
  const step = (by: number) => { const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)]; if (next) go(`/functions/${encodeURIComponent(next.name)}`, name ? "replace" : "push"); };
  const isNew = query.has("new");
  useKeys({
    j: () => step(1), k: () => step(-1), "/": () => search.current?.focus(), n: () => go("/functions?new"),
    ...(name && !deed && { Escape: () => go("/functions") }), ...(name && !deed && { e: () => go(`/functions/${encodeURIComponent(name)}/edit`) }),
  });
  const tags = useMemo(() => [...new Set(all.flatMap((f) => f.tags))].sort(), [all]);
  const mark = (one: string) => setMarked((was) => { const now = new Set(was); if (!now.delete(one)) now.add(one); return now; });
  const picked = [...marked].filter((one) => shown.some((f) => f.name === one));
  const give = () => void exportFunctions(vault, picked).then((file) => saveFile("custom-functions.json", file), (e) => toast(wordsOf(e), undefined, "bad"));
  const removePicked = () => void removeWithUndo(vault, picked, () => { setMarked(new Set()); go("/functions"); again(); });
  if (isNew || deed === "edit") return !today.value ? <div class="view"><Skeleton /></div> : <Edit key={`${vault} ${isNew ? "" : name} ${turn.value}`} vault={vault} name={isNew ? "" : name} template={query.get("template") ?? ""} done={again} />;
  const filtered = asked.words || asked.tag || asked.by || asked.usage;
  const empty = rows && !shown.length;
  return (
    <div class={`view functions${name ? " opened" : ""}`}>
      <section class="fn-list" aria-label={t.functions.title}>
        <header class="line-row"><h1>{t.functions.title}</h1>
          <button type="button" onClick={() => setImporting(!importing)} aria-expanded={importing}>{t.functions.import}</button>
          <button type="button" disabled={!shown.length} onClick={give}>{picked.length ? t.functions.exportSome(picked.length) : t.functions.export}</button>
          <a class="button primary" href="/functions?new">{t.functions.make}</a></header>
        {importing && <Import vault={vault} close={() => setImporting(false)} done={again} />}
        <div class="fn-filters">
          <input ref={search} type="search" value={words} placeholder={t.functions.search} aria-label={t.functions.search} onInput={(e) => setWords(e.currentTarget.value)} />
          <select aria-label={t.functions.tag} value={asked.tag} onChange={(e) => setAsked({ ...asked, tag: e.currentTarget.value })}><option value="">{t.functions.anyTag}</option>{tags.map((tag) => <option key={tag} value={tag}>{spell(tag)}</option>)}</select>
          <select aria-label={t.functions.source} value={asked.by} onChange={(e) => setAsked({ ...asked, by: e.currentTarget.value })}>{Object.entries(t.functions.sources).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select>
          <select aria-label={t.functions.usage} value={asked.usage} onChange={(e) => setAsked({ ...asked, usage: e.currentTarget.value })}>{Object.entries(t.functions.usages).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select>
          <span class="sort"><select aria-label={t.functions.sort} value={asked.sort} onChange={(e) => setAsked({ ...asked, sort: e.currentTarget.value, up: e.currentTarget.value === "name" })}>{SORTS.map((one) => <option key={one} value={one}>{t.functions.sorts[one]}</option>)}</select>
            <button type="button" aria-label={asked.up ? t.functions.up : t.functions.down} title={asked.up ? t.functions.up : t.functions.down} onClick={() => setAsked({ ...asked, up: !asked.up })}>{asked.up ? "↑" : "↓"}</button></span>
        </div>
        {picked.length > 0 && <div class="fn-picked" role="status"><span>{t.functions.picked(picked.length)}</span><button type="button" onClick={removePicked}>{t.functions.remove}</button><button type="button" class="ghost" onClick={() => setMarked(new Set())}>{t.functions.unmark}</button></div>}
        {failed && <Failure text={failed} retry={look} />}
        {!rows && !failed && (vault ? <Skeleton lines={8} /> : <NoVault icon="functions" lines={8} />)}
        {empty && (filtered ? <Empty icon="search" title={t.functions.noMatch}><button type="button" onClick={() => { setWords(""); setAsked(START); }}>{t.functions.clear}</button></Empty>
          : <Empty icon="functions" title={t.functions.none}><p class="quiet">{t.functions.noneHint}</p><a class="button primary" href="/functions?new">{t.functions.make}</a></Empty>)}
        {shown.length > 0 && <Rows items={shown} height={HEIGHT} id={idOf} selected={at < 0 ? "" : idOf(shown[at])} of={JSON.stringify(asked)} label={t.functions.title} version={`${name} ${[...marked].join()}`}
          row={(f) => <Row f={f} chosen={f.name === name} marked={marked.has(f.name)} onMark={() => mark(f.name)} />} />}
      </section>
      {name && <section class="fn-pane" aria-label={spell(name)}>
        <a class="button ghost close" href="/functions" aria-label={t.close}><Icon name="close" size={16} /></a>
        {vault && <Detail key={`${vault} ${name}`} vault={vault} name={name} version={version} done={again} />}
      </section>}
    </div>
  );
}
