// Links that lead nowhere, with what repairs them, and notes that were deleted.
import { useEffect, useState } from "preact/hooks";
import { serverNow } from "../../core/api";
import { undoCall } from "../../core/deeds";
import { useNewest } from "../../core/newest";
import { alike, getBroken, getNote, getTrash, lastChange, noteHref, relink, restoreTrashed, saveNote, type Link, type NoteRow, type Trashed } from "../../core/notes";
import { go, goLater } from "../../core/router";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Empty, Failure, Icon, Skeleton, Strange, Time } from "../../parts/parts";

function useRows<T>(get: (vault: string) => Promise<T[]>, vault: string, changes: number): { rows: T[] | null; failed: string; look: () => void } {
  const [rows, setRows] = useState<T[] | null>(null);
  const [failed, setFailed] = useState("");
  const newest = useNewest([vault]);
  const look = () => void newest(() => get(vault), (all) => { setRows(all); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(look, [vault, changes]);
  return { rows, failed, look };
}

async function repair(vault: string, link: Link, to: string): Promise<void> {
  const since = serverNow();
  try {
    const note = await getNote(vault, link.source_note_id);
    const text = relink(note.markdown, link.target, to);
    if (text === null || !(await saveNote(vault, note.id, text, note.content_hash))) {
      toast(t.notesView.notRepaired, undefined, "bad");
      return;
    }
    const call = await lastChange(vault, since);
    toast(t.notesView.repaired(note.title), call ? { text: t.undo, run: () => void undoCall(vault, call) } : undefined);
  } catch (e) {
    toast(wordsOf(e), undefined, "bad");
  }
}

export function Broken({ vault, all, changes }: { vault: string; all: readonly NoteRow[]; changes: number }) {
  const { rows, failed, look } = useRows(getBroken, vault, changes);
  if (failed) return <Failure text={failed} retry={look} />;
  if (!rows) return <Skeleton />;
  if (!rows.length) return <Empty icon="check" title={t.notesView.noBroken} />;
  return (
    <section class="mend"><h2>{t.notesView.broken} <span class="quiet">{rows.length}</span></h2>
      <ul>{rows.slice(0, 200).map((link, i) => (
        <li key={`${link.source_note_id} ${link.line} ${link.target} ${i}`}>
          <p><a href={noteHref(link.source_note_id)}><Strange text={link.source_note_id} /></a> <Icon name="chevron" size={13} /> <Strange text={link.target} /></p>
          <div class="deeds">
            {link.link_type === "wiki" && alike(link.target, all).map((row) => <button type="button" key={row.id} onClick={() => void repair(vault, link, row.id)}>{t.notesView.linkTo} <Strange text={row.id} /></button>)}
            <button type="button" onClick={() => go(`/notes?new=${encodeURIComponent(link.target)}`)}>{t.notesView.makeIt}</button>
          </div>
        </li>
      ))}</ul>
      {rows.length > 200 && <p class="quiet">{t.run.more(rows.length - 200)}</p>}
    </section>
  );
}

export function Trash({ vault, changes }: { vault: string; changes: number }) {
  const { rows, failed, look } = useRows(getTrash, vault, changes);
  const restore = (one: Trashed) => {
    const later = goLater();
    void restoreTrashed(vault, one.backup_path).then((note) => { toast(t.notesView.isBack(note.id ?? one.id)); later(noteHref(note.id ?? one.id)); }, (e) => toast(wordsOf(e), undefined, "bad"));
  };
  if (failed) return <Failure text={failed} retry={look} />;
  if (!rows) return <Skeleton />;
  if (!rows.length) return <Empty icon="notes" title={t.notesView.noTrash} />;
  return (
    <section class="mend"><h2>{t.notesView.trash} <span class="quiet">{rows.length}</span></h2>
      <ul>{rows.map((one) => (
        <li key={one.backup_path}><p><Strange text={one.id} /> {one.deleted_at && <span class="quiet"><Time time={one.deleted_at} /></span>}</p>
          <div class="deeds"><button type="button" onClick={() => restore(one)}>{t.notesView.restore}</button></div></li>
      ))}</ul>
    </section>
  );
}
