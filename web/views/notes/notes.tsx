// The notes of a vault: a tree, search while one types, and what is open; broken links and the trash.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hear } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { createNote, getNotes, keepNotes, keptNotes, noteHref, searchNotes, type Hit, type NoteRow } from "../../core/notes";
import { go, goLater, place } from "../../core/router";
import { today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Empty, Failure, Icon, NoVault, Skeleton, Strange } from "../../parts/parts";
import { Rows } from "../../parts/rows";
import { Graph } from "./graph";
import { Broken, Trash } from "./mend";
import { NotePane } from "./note";

const CALM_MS = 120; // after the last key: then the texts are searched, too
const FOUND_MAX = 200;

type Line = { id: string; group: string; count: number; row: null } | { id: string; group: string; row: NoteRow | Hit };

/** Another number when a note of the vault was changed, by whomever. */
function useChanges(vault: string): number {
  const [n, setN] = useState(0);
  useEffect(() => {
    let timer = 0;
    const soon = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setN((was) => was + 1), CALM_MS);
    };
    const offs = [hear("hello", soon), hear("record", ({ vault: of, record }) => { if (of === vault && record.changed !== false && (record.notes?.length || record.intent)) soon(); })];
    // Another editor tells nobody: the person comes back from it.
    addEventListener("focus", soon);
    return () => { clearTimeout(timer); removeEventListener("focus", soon); offs.forEach((off) => off()); };
  }, [vault]);
  return n;
}

function useNotes(vault: string, changes: number): { all: NoteRow[] | null; failed: string; look: () => void } {
  const [all, setAll] = useState<NoteRow[] | null>(keptNotes(vault));
  const [failed, setFailed] = useState("");
  const newest = useNewest([vault]);
  const look = () => {
    if (vault) void newest((signal) => getNotes(vault, signal), (rows) => { keepNotes(vault, rows); setAll(rows); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  };
  useEffect(() => setAll(keptNotes(vault)), [vault]);
  useEffect(look, [vault, changes]);
  return { all, failed, look };
}

/** Titles at once, texts a moment later. */
function useFound(vault: string, all: NoteRow[] | null, words: string): (NoteRow | Hit)[] | null {
  const [hits, setHits] = useState<{ of: string; rows: Hit[] }>({ of: "", rows: [] });
  const newest = useNewest([vault, words]);
  useEffect(() => {
    if (!words.trim()) return;
    const timer = setTimeout(() => void newest((signal) => searchNotes(vault, words, signal), (rows) => setHits({ of: words, rows })), CALM_MS);
    return () => clearTimeout(timer);
  }, [vault, words]);
  return useMemo(() => {
    const wanted = words.trim().toLowerCase();
    if (!wanted) return null;
    const titled: (NoteRow | Hit)[] = (all ?? []).filter((row) => row.id.toLowerCase().includes(wanted)).slice(0, FOUND_MAX);
    const known = new Set(titled.map((row) => row.id));
    return [...titled, ...(hits.of === words ? hits.rows.filter((hit) => !known.has(hit.id)) : [])];
  }, [all, words, hits]);
}

const inOrder = new Intl.Collator().compare; // much faster than a collator for each pair

function tree(all: readonly NoteRow[], shut: ReadonlySet<string>): Line[] {
  const groups = new Map<string, NoteRow[]>();
  for (const row of all) {
    const group = groups.get(row.class);
    if (group) group.push(row);
    else groups.set(row.class, [row]);
  }
  return [...groups].sort(([a], [b]) => inOrder(a, b)).flatMap(([group, rows]): Line[] => [
    { id: `/${group}`, group, count: rows.length, row: null },
    ...(shut.has(group) ? [] : rows.sort((a, b) => inOrder(a.title, b.title)).map((row) => ({ id: row.id, group, row }))),
  ]);
}

function NewForm({ vault, title: given, classes, close }: { vault: string; title: string; classes: string[]; close: () => void }) {
  const slash = given.lastIndexOf("/");
  const [title, setTitle] = useState(given.slice(slash + 1));
  const [kind, setKind] = useState(slash > 0 ? given.slice(0, slash) : "");
  const [failed, setFailed] = useState("");
  const make = (event: Event) => {
    event.preventDefault();
    const later = goLater();
    void createNote(vault, { title, ...(kind && { class: kind }) }).then((note) => later(`${noteHref(note.id)}?edit`), (e) => setFailed(wordsOf(e)));
  };
  return (
    <form class="note-new" onSubmit={make} aria-label={t.notesView.make}>
      <label>{t.notesView.name}<input type="text" required value={title} autoFocus onInput={(e) => setTitle(e.currentTarget.value)} /></label>
      <label>{t.notesView.kind}<input type="text" list="classes" value={kind} placeholder="note" onInput={(e) => setKind(e.currentTarget.value)} /></label>
      <datalist id="classes">{classes.map((one) => <option key={one} value={one} />)}</datalist>
      <button type="submit" class="primary">{t.notesView.create}</button><button type="button" onClick={close}>{t.cancel}</button>
      {failed && <p class="bad" role="alert"><Strange text={failed} /></p>}
    </form>
  );
}

export function NotesView() {
  const vault = today.value?.vault ?? "";
  const { parts, query } = place.value;
  const id = parts.slice(1).join("/");
  const show = query.get("show") ?? "";
  const changes = useChanges(vault);
  const { all, failed, look } = useNotes(vault, changes);
  const [words, setWords] = useState("");
  const [shut, setShut] = useState<ReadonlySet<string>>(new Set());
  const field = useRef<HTMLInputElement>(null);
  const found = useFound(vault, all, words);
  const lines = useMemo((): Line[] => (found ? found.map((row) => ({ id: row.id, group: row.class, row })) : tree(all ?? [], shut)), [all, found, shut]);
  const making = query.get("new");
  const step = (by: number) => {
    const notes = lines.filter((line) => line.row);
    const next = notes[Math.min(Math.max(notes.findIndex((line) => line.id === id) + by, 0), notes.length - 1)];
    if (next) go(noteHref(next.id), id ? "replace" : "push");
  };
  useKeys({
    j: () => step(1), k: () => step(-1), "/": () => field.current?.focus(), n: () => go("/notes?new="),
    Escape: () => { if (document.activeElement === field.current) { setWords(""); field.current?.blur(); } else if (id && !query.has("edit")) go("/notes"); },
  });
  const row = (line: Line) => line.row ? (
    <a class="note-row" href={noteHref(line.id)} aria-current={line.id === id ? "true" : undefined}>
      <Strange text={line.row.title} />{found && <span class="quiet"><Strange text={"excerpt" in line.row && line.row.excerpt ? line.row.excerpt : line.group} /></span>}
    </a>
  ) : (
    <button type="button" class="note-group" aria-expanded={!shut.has(line.group)} onClick={() => setShut((was) => { const now = new Set(was); if (!now.delete(line.group)) now.add(line.group); return now; })}>
      <Icon name={shut.has(line.group) ? "chevron" : "down"} size={13} /><Strange text={line.group} /><span class="quiet">{line.count}</span>
    </button>
  );
  if (!vault) return <div class="view"><NoVault icon="notes" /></div>;
  return (
    <div class={`view notes-view${id || show || making !== null ? " opened" : ""}`}>
      <div class="notes-list">
        <header class="tools-row">
          <h1>{t.notesView.title}</h1>
          <a class="button" href="/notes?new=">{t.notesView.make}</a>
          <label class="search"><Icon name="search" size={16} /><input ref={field} type="search" value={words} placeholder={t.notesView.search} aria-label={t.notesView.search} spellcheck={false} onInput={(e) => setWords(e.currentTarget.value)}
            onKeyDown={(e) => { if (e.key === "Enter" && lines[0]?.row) go(noteHref(lines[0].id)); }} /></label>
        </header>
        {failed && <Failure text={failed} retry={look} />}
        {!all && !failed && <Skeleton lines={10} />}
        {all && !all.length && <Empty icon="notes" title={t.notesView.none}><p class="quiet">{t.notesView.noneHint}</p></Empty>}
        {found && !found.length && <p class="quiet pad">{t.notesView.noMatch}</p>}
        {all && all.length > 0 && <Rows items={lines} height={found ? 46 : 32} id={(line) => line.id} row={row} label={t.notesView.title} selected={id} of={`${vault} ${found ? words : ""}`} version={`${id} ${found ? words : ""} ${[...shut].join()}`} />}
        <nav class="notes-foot" aria-label={t.notesView.care}>
          <a href="/notes?show=graph" aria-current={show === "graph" ? "page" : undefined}>{t.notesView.graph}</a><a href="/notes?show=broken" aria-current={show === "broken" ? "page" : undefined}>{t.notesView.broken}</a><a href="/notes?show=trash" aria-current={show === "trash" ? "page" : undefined}>{t.notesView.trash}</a>
        </nav>
      </div>
      <div class="notes-pane">
        {(id || show || making !== null) && <button type="button" class="ghost close" aria-label={t.close} onClick={() => go("/notes")}><Icon name="close" size={16} /></button>}
        {making !== null ? <NewForm key={making} vault={vault} title={making} classes={[...new Set((all ?? []).map((one) => one.class))]} close={() => go("/notes")} />
          : show === "graph" ? <Graph vault={vault} changes={changes} words={words.trim()} />
          : show === "broken" ? <Broken vault={vault} all={all ?? []} changes={changes} />
          : show === "trash" ? <Trash vault={vault} changes={changes} />
          : id ? <NotePane key={`${vault} ${id}`} vault={vault} id={id} changes={changes} />
          : all && all.length > 0 && <Empty icon="notes" title={t.notesView.pick}><p class="quiet">{t.notesView.pickHint}</p></Empty>}
      </div>
    </div>
  );
}
