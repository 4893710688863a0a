// One note: read, edited with a look at what others do meanwhile, renamed, deleted, and its past.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal, serverNow } from "../../core/api";
import { undoCall } from "../../core/deeds";
import { Drafts } from "../../core/drafts";
import { useKeys } from "../../core/keys";
import { withEndsOf } from "../../core/lines";
import { useNewest } from "../../core/newest";
import { createNote, deleteNote, getLinks, getNote, lastChange, noteHref, patchNote, saveNote, type Link, type Note } from "../../core/notes";
import { go, goLater, place } from "../../core/router";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Conflict } from "../../parts/conflict";
import { NoteEditor, type Beginning } from "../../parts/editor";
import { Confirm, Failure, Icon, Key, Skeleton, Strange, Time } from "../../parts/parts";
import { Past } from "./past";
import { Rendered } from "./rendered";

const bad = (e: unknown) => toast(wordsOf(e), undefined, "bad");

/** Says what was done, with its undo; after that comes `undone`. */
async function done(vault: string, since: string, text: string, undone?: () => void): Promise<void> {
  const call = await lastChange(vault, since).catch(() => "");
  toast(text, call ? { text: t.undo, run: () => void undoCall(vault, call).then((said) => { if (said?.undone) undone?.(); }) } : undefined);
}

// ---- editing ---------------------------------------------------------------------------

const drafts = new Drafts<{ text: string; hash: string }>("notes");
const draftKey = (vault: string, id: string): string => `${vault} ${id}`;

function discard(vault: string, id: string) {
  const was = drafts.get(draftKey(vault, id));
  drafts.delete(draftKey(vault, id));
  if (was) toast(t.notesView.discarded, { text: t.undo, run: () => { drafts.set(draftKey(vault, id), was); go(`${noteHref(id)}?edit`); } });
}

/** The note is not there any more, and this is what was not saved of it. */
function Orphan({ vault, id, done: over }: { vault: string; id: string; done: () => void }) {
  const [busy, setBusy] = useState(false);
  const text = drafts.get(draftKey(vault, id))!.text;
  const make = async () => {
    setBusy(true);
    const since = serverNow(), later = goLater();
    try {
      const at = id.lastIndexOf("/");
      const made = await createNote(vault, { title: id.slice(at + 1), ...(at > 0 && { class: id.slice(0, at) }) });
      drafts.set(draftKey(vault, made.id), { text, hash: made.content_hash }); // until it is saved
      drafts.delete(draftKey(vault, id));
      const saved = await saveNote(vault, made.id, text, made.content_hash).catch((e) => { bad(e); return null; });
      if (saved) {
        drafts.delete(draftKey(vault, made.id));
        void done(vault, since, t.notesView.saved);
      }
      later(noteHref(made.id), "replace");
      over();
    } catch (e) {
      bad(e);
      setBusy(false);
    }
  };
  return (
    <section class="orphan" role="alert">
      <p><Icon name="warn" size={16} /><strong>{t.notesView.orphan}</strong> {t.notesView.orphanHint}</p>
      <Strange text={text} block />
      <div class="deeds"><button type="button" onClick={() => { discard(vault, id); over(); }}>{t.notesView.takeTheirs}</button><button type="button" class="primary" disabled={busy} onClick={() => void make()}>{t.notesView.saveNew}</button></div>
    </section>
  );
}

function Edit({ vault, note, close, lost }: { vault: string; note: Note; close: (now: Note) => void; lost: () => void }) {
  const key = draftKey(vault, note.id);
  const [kept] = useState(() => drafts.get(key));
  const [from, setFrom] = useState<Beginning>({ text: kept?.text ?? note.markdown });
  const draft = useRef(from.text);
  const base = useRef(kept?.hash ?? note.content_hash); // the version that was edited
  const [dirty, setDirty] = useState(kept !== undefined);
  const [theirs, setTheirs] = useState<Note | null>(null);
  const [busy, setBusy] = useState(false);
  const shown = useRef(note); // as it was saved last
  const save = async (hash: string) => {
    if (busy) return;
    setBusy(true);
    const since = serverNow(), sent = draft.current;
    try {
      const now = await saveNote(vault, note.id, withEndsOf(theirs?.markdown ?? shown.current.markdown, sent), hash);
      if (now) {
        void done(vault, since, t.notesView.saved);
        const typed = drafts.get(key)?.text ?? sent; // meanwhile
        if (typed === sent) {
          drafts.delete(key);
          close(now);
          return;
        }
        drafts.set(key, { text: typed, hash: now.content_hash });
        base.current = now.content_hash;
        shown.current = now;
        if (theirs) { setFrom({ text: typed }); setTheirs(null); }
        setBusy(false);
        return;
      }
      setTheirs(await getNote(vault, note.id));
    } catch (e) {
      if (e instanceof Refusal && e.status === 404) { lost(); return; }
      bad(e);
    }
    setBusy(false);
  };
  const leave = () => {
    discard(vault, note.id);
    close(theirs ?? shown.current);
  };
  if (theirs) return (
    <Conflict words={t.notesView} theirs={theirs.markdown} mine={draft.current} back={() => { base.current = theirs.content_hash; drafts.set(key, { text: draft.current, hash: base.current }); setFrom({ text: draft.current }); setTheirs(null); }}
      take={leave} keep={() => void save(theirs.content_hash)} />
  );
  return (
    <div class="note-edit">
      <div class="tools-row"><span class="quiet">{dirty ? t.notesView.unsaved : ""}</span><span class="gap" />
        <button type="button" onClick={leave}>{t.cancel}</button>
        <button type="button" class="primary" disabled={busy || !dirty} onClick={() => void save(base.current)}>{t.notesView.save}<Key of="Ctrl S" /></button></div>
      {note.markdown.includes("\ufffd") && <p class="note-line" role="note"><Icon name="warn" size={15} />{t.notesView.notUtf8}</p>}
      <NoteEditor from={from} label={t.notesView.text} onChange={(now) => { draft.current = now; setDirty(true); drafts.set(key, { text: now, hash: base.current }); }} onSave={() => void save(base.current)} />
    </div>
  );
}

// ---- what is beside the text -------------------------------------------------------------

function Properties({ note }: { note: Note }) {
  const rows = Object.entries(note.properties ?? {});
  const path = today.value?.vaults.find((v) => v.id === today.value?.vault)?.path;
  return (
    <section><h3>{t.notesView.properties}</h3>
      <dl class="facts">
        <div><dt>{t.notesView.kind}</dt><dd><Strange text={note.class} /></dd></div>
        {note.tags?.length > 0 && <div><dt>{t.notesView.tags}</dt><dd>{note.tags.map((tag) => <span class="tag" key={tag}><Strange text={tag} /></span>)}</dd></div>}
        {rows.map(([name, value]) => <div key={name}><dt><Strange text={name} /></dt><dd><Strange text={typeof value === "string" ? value : JSON.stringify(value)} /></dd></div>)}
        <div><dt>{t.notesView.changed}</dt><dd><Time time={note.updated_at} /></dd></div>
        <div><dt>{t.notesView.file}</dt><dd><Strange text={note.path} /></dd></div>
      </dl>
      {path && <a href={`obsidian://open?path=${encodeURIComponent(`${path}/${note.path}`)}`}>{t.notesView.obsidian}</a>}
    </section>
  );
}

function Links({ links }: { links: { out: Link[]; back: Link[] } }) {
  const back = [...new Map(links.back.map((link) => [link.source_note_id, link])).values()];
  const out = [...new Map(links.out.filter((link) => link.target_note_id).map((link) => [link.target_note_id!, link])).keys()];
  return (
    <>
      <section class="backlinks"><h3>{t.notesView.back}</h3>{back.length ? <ul>{back.map((link) => <li key={link.source_note_id}><a href={noteHref(link.source_note_id)}><Strange text={link.source_note_id} /></a></li>)}</ul> : <p class="quiet">{t.notesView.noBack}</p>}</section>
      {out.length > 0 && <section><h3>{t.notesView.out}</h3><ul>{out.map((id) => <li key={id}><a href={noteHref(id)}><Strange text={id} /></a></li>)}</ul></section>}
    </>
  );
}

function Rename({ vault, note, close, leave }: { vault: string; note: Note; close: () => void; leave: (on: boolean) => void }) {
  const [title, setTitle] = useState(note.title);
  const [kind, setKind] = useState(note.class);
  const [failed, setFailed] = useState("");
  const rename = async (event: Event) => {
    event.preventDefault();
    const since = serverNow(), later = goLater();
    leave(true);
    try {
      const now = await patchNote(vault, note.id, { ...(title !== note.title && { title }), ...(kind !== note.class && { class: kind }) }, note.content_hash);
      const draft = drafts.get(draftKey(vault, note.id));
      if (draft) drafts.set(draftKey(vault, now.id), draft); // by its hash, so that saving it shows what the new name changed
      if (draft && now.id !== note.id) drafts.delete(draftKey(vault, note.id));
      void done(vault, since, t.notesView.renamed(now.title));
      close();
      if (now.id === note.id) leave(false);
      later(noteHref(now.id), "replace");
    } catch (e) {
      leave(false);
      setFailed(wordsOf(e));
    }
  };
  return (
    <form class="note-new" onSubmit={(e) => void rename(e)} aria-label={t.notesView.rename}>
      <label>{t.notesView.name}<input type="text" required value={title} onInput={(e) => setTitle(e.currentTarget.value)} /></label>
      <label>{t.notesView.kind}<input type="text" required value={kind} onInput={(e) => setKind(e.currentTarget.value)} /></label>
      <button type="submit" class="primary">{t.notesView.rename}</button><button type="button" onClick={close}>{t.cancel}</button>
      <p class="quiet">{t.notesView.linksFollow}</p>
      {failed && <p class="bad" role="alert"><Strange text={failed} /></p>}
    </form>
  );
}

// ---- the note ----------------------------------------------------------------------------

export function NotePane({ vault, id, changes }: { vault: string; id: string; changes: number }) {
  const [note, setNote] = useState<Note | null>(null);
  const [links, setLinks] = useState<{ out: Link[]; back: Link[] }>({ out: [], back: [] });
  const [unlinked, setUnlinked] = useState(false); // they could not be told
  const [failed, setFailed] = useState("");
  const [gone, setGone] = useState(false);
  const [renaming, setRenaming] = useState(false);
  const [sure, setSure] = useState(false);
  const leaving = useRef(false); // it is renamed or deleted here: news of that come before the answer, and it is not there to be read again
  const { query } = place.value;
  const editing = query.has("edit");
  const past = query.has("past");
  const newest = useNewest([vault, id]);
  const look = () => void newest(() => Promise.all([getNote(vault, id), getLinks(vault, id).catch(() => null)]), ([now, found]) => {
    setNote((was) => (was?.content_hash === now.content_hash ? was : now));
    setLinks(found ?? { out: [], back: [] });
    setUnlinked(!found);
    setFailed("");
    setGone(false);
  }, (e) => { if (e instanceof Refusal && e.status === 404) setGone(true); else setFailed(wordsOf(e)); });
  const leave = (on: boolean) => { leaving.current = on; if (!on && !editing) look(); }; // what came meanwhile was not read
  useEffect(() => { if (!leaving.current && (!editing || !note)) look(); }, [changes, editing]); // what is edited stays as it was begun
  const here = useRef(true); // and not another view, while something was done
  useEffect(() => () => { here.current = false; }, []);
  const to = (mode = "") => { if (here.current) go(noteHref(id) + mode, "replace"); };
  const remove = async (certain: boolean) => {
    const since = serverNow();
    try {
      leave(true);
      if (!(await deleteNote(vault, id, certain))) { leave(false); setSure(true); return; }
      const key = draftKey(vault, id), draft = drafts.get(key);
      drafts.delete(key);
      void done(vault, since, t.notesView.deleted(note?.title ?? id), () => { if (draft) drafts.set(key, draft); });
      if (here.current) go("/notes", "replace");
    } catch (e) {
      leave(false);
      bad(e);
    }
  };
  useKeys({ e: () => to("?edit"), ...(editing || past ? { Escape: () => { if (past) to(); } } : {}) });
  if (past) return <Past vault={vault} id={id} now={note} close={() => to()} />;
  if (gone && drafts.has(draftKey(vault, id))) return <Orphan vault={vault} id={id} done={() => { setGone(true); to(); }} />;
  if (gone) return <div class="pad"><p>{t.notesView.gone}</p><a class="button" href={`${noteHref(id)}?past`}>{t.notesView.past}</a></div>;
  if (failed) return <Failure text={failed} retry={look} />;
  if (!note) return <Skeleton lines={8} />;
  return (
    <article class="note" aria-labelledby="note">
      <header><h2 id="note"><Strange text={note.title} /></h2>
        {!editing && <div class="deeds">
          <button type="button" class="primary" onClick={() => to("?edit")}>{t.notesView.edit}<Key of="E" /></button>
          <button type="button" onClick={() => to("?past")}>{t.notesView.past}</button><button type="button" aria-expanded={renaming} onClick={() => setRenaming(!renaming)}>{t.notesView.rename}</button>
          <button type="button" onClick={() => void remove(false)}>{t.notesView.remove}</button></div>}
      </header>
      {renaming && !editing && <Rename vault={vault} note={note} close={() => setRenaming(false)} leave={leave} />}
      {sure && <Confirm sentence={t.notesView.linked} yes={t.notesView.remove} onYes={() => remove(true)} onNo={() => setSure(false)} />}
      {!editing && drafts.has(draftKey(vault, id)) && (
        <p class="note-line" role="status">{t.notesView.draft} <button type="button" onClick={() => to("?edit")}>{t.notesView.editOn}</button><button type="button" onClick={() => { discard(vault, id); to(); }}>{t.notesView.takeTheirs}</button></p>
      )}
      {editing ? <Edit vault={vault} note={note} close={(now) => { setNote(now); to(); }} lost={() => setGone(true)} />
        : <div class="note-body"><Rendered vault={vault} id={id} markdown={note.markdown} out={links.out} /><aside><Properties note={note} />{unlinked ? <p class="quiet">{t.notesView.noLinks}</p> : <Links links={links} />}</aside></div>}
    </article>
  );
}
