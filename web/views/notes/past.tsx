// What a note was: a slider over its revisions, each with what it changed, and the way back.
import { useEffect, useRef, useState } from "preact/hooks";
import { serverNow } from "../../core/api";
import { undoCall } from "../../core/deeds";
import { useNewest } from "../../core/newest";
import { getHistory, getNote, getOld, lastChange, restoreRevision, type Note, type Revision } from "../../core/notes";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Diff } from "../../parts/diff";
import { Failure, Skeleton, spell, Strange, Time } from "../../parts/parts";

export function Past({ vault, id, now, close }: { vault: string; id: string; now: Note | null; close: () => void }) {
  const [rows, setRows] = useState<Revision[] | null>(null); // the oldest first
  const [at, setAt] = useState(0);
  const [pair, setPair] = useState<{ of: number; before: string; after: string } | null>(null);
  const [failed, setFailed] = useState("");
  const fail = (e: unknown) => setFailed(wordsOf(e));
  const newest = useNewest([vault, id]);
  const chosen = useRef(0); // the revision that the person went to; 0: the newest, whichever that is
  const look = () => void newest(() => getHistory(vault, id), (all) => {
    const was = all.reverse().findIndex((row) => row.revision === chosen.current);
    setFailed("");
    setRows(all);
    setAt(was < 0 ? all.length - 1 : was);
  }, fail);
  useEffect(look, [vault, id, now?.content_hash]);
  const move = (to: number) => { chosen.current = to === rows!.length - 1 ? 0 : rows![to].revision; setAt(to); };
  const one = rows?.[at];
  const newestPair = useNewest([one]);
  useEffect(() => {
    if (!one) return;
    const textOf = (row?: Revision) => (!row || row.action === "delete" ? Promise.resolve("") : getOld(vault, id, row.revision).then((old) => old.markdown ?? ""));
    void newestPair(() => Promise.all([textOf(rows![at - 1]), textOf(one)]), ([before, after]) => setPair({ of: one.revision, before, after }), fail);
  }, [one]);
  const restore = async () => {
    const since = serverNow();
    try {
      // What is there now becomes a revision: nothing is lost if another has just changed it.
      const there = await getNote(vault, id).then((note) => note.content_hash, () => "");
      await restoreRevision(vault, id, one!.revision, there);
      const call = await lastChange(vault, since);
      toast(t.notesView.restored(one!.revision), call ? { text: t.undo, run: () => void undoCall(vault, call) } : undefined);
      close();
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
    }
  };
  if (failed) return <Failure text={failed} retry={look} />;
  if (!rows) return <Skeleton lines={6} />;
  if (!one) return <div class="pad"><p class="quiet">{t.notesView.noPast}</p><button type="button" onClick={close}>{t.close}</button></div>;
  const current = one.action === "delete" || one.content_hash === now?.content_hash;
  return (
    <section class="past" aria-label={t.notesView.past}>
      <header><h2><Strange text={id} /></h2></header>
      <input type="range" min={0} max={rows.length - 1} value={at} aria-label={t.notesView.revision} aria-valuetext={t.notesView.revisionOf(one.revision, rows.length)} onInput={(e) => move(Number(e.currentTarget.value))} />
      <p class="past-line"><strong>{t.notesView.revisionOf(one.revision, rows.length)}</strong> <Time time={one.updated_at} /> {t.notesView.by} <Strange text={one.author} /> <span class="tag">{spell(one.action)}</span> <span class="quiet"><Strange text={one.summary ?? ""} /></span></p>
      <div class="deeds"><button type="button" disabled={at === 0} onClick={() => move(at - 1)}>{t.notesView.older}</button><button type="button" disabled={at === rows.length - 1} onClick={() => move(at + 1)}>{t.notesView.newer}</button>
        <span class="gap" /><button type="button" onClick={close}>{t.close}</button><button type="button" class="primary" disabled={current} onClick={() => void restore()}>{t.notesView.restore}</button></div>
      {pair?.of === one.revision ? <Diff before={pair.before} after={pair.after} /> : <Skeleton lines={4} />}
    </section>
  );
}
