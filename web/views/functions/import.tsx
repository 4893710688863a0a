// Functions of a file: looked through first, and taken over all or none.
import { useRef, useState } from "preact/hooks";
import { forgetAll, isRefused, tryImport, type Finding, type Imported } from "../../core/functions";
import { useNewest } from "../../core/newest";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Strange } from "../../parts/parts";

interface Looked { file: unknown; name: string; rows: Imported[]; error: string; errors: Finding[] }

export function Import({ vault, close, done }: { vault: string; close: () => void; done: () => void }) {
  const [conflict, setConflict] = useState("skip");
  const [looked, setLooked] = useState<Looked | null>(null);
  const [over, setOver] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const newest = useNewest([vault]);
  const look = (file: unknown, name: string, how: string) => newest(() => tryImport(vault, file, how, true), (said) => {
    if (isRefused(said)) setLooked({ file, name, rows: said.refused.functions ?? [], error: said.refused.error ?? said.refused.detail ?? "", errors: said.refused.errors ?? [] });
    else setLooked({ file, name, rows: said.functions ?? [], error: "", errors: [] });
  }, (e) => setLooked({ file, name, rows: [], error: wordsOf(e), errors: [] }));
  const read = async (file: File | undefined) => {
    if (!file) return;
    try {
      await look(JSON.parse(await file.text()), file.name, conflict);
    } catch (e) {
      setLooked({ file: null, name: file.name, rows: [], error: t.functions.noJson((e as Error).message), errors: [] });
    }
  };
  const take = async () => {
    if (!looked) return;
    try {
      const said = await tryImport(vault, looked.file, conflict, false);
      if (isRefused(said)) { setLooked({ ...looked, error: said.refused.error ?? said.refused.detail ?? "", rows: said.refused.functions ?? [], errors: said.refused.errors ?? [] }); return; }
      const made = (said.functions ?? []).filter((x) => /import|creat|add|renam/.test(String(x.action ?? x.result ?? ""))).map((x) => x.name);
      toast(t.functions.imported((said.functions ?? []).length), conflict === "skip" && made.length ? { text: t.undo, run: () => void forgetAll(vault, made, true).then(done, (e) => toast(wordsOf(e), undefined, "bad")) } : undefined);
      done();
      close();
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
    }
  };
  return (
    <section class={`card fn-import${over ? " over" : ""}`} aria-label={t.functions.import} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={(e) => { e.preventDefault(); setOver(false); void read(e.dataTransfer?.files[0]); }}>
      <p>{t.functions.importLead}</p>
      <div class="deeds"><input ref={field} id="fn-file" type="file" accept=".json,application/json" class="visually-hidden" tabIndex={-1} aria-label={t.functions.pickFile} onChange={(e) => void read(e.currentTarget.files?.[0])} />
        <button type="button" onClick={() => field.current?.click()}>{t.functions.pickFile}</button>
        <label class="inline">{t.functions.ifTaken}<select value={conflict} onChange={(e) => { const how = e.currentTarget.value; setConflict(how); if (looked?.file) void look(looked.file, looked.name, how); }}>{Object.entries(t.functions.conflicts).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select></label>
        <button type="button" class="ghost" onClick={close}>{t.cancel}</button></div>
      {looked && <>
        <p><Strange text={looked.name} /></p>
        {looked.error && <p class="bad" role="alert"><Strange text={looked.error} /></p>}
        {looked.errors.map((f, i) => <p class="bad" key={i}>{f.field && <code>{f.field}</code>} <Strange text={`${f.line ? `${f.line}:${f.column ?? 1} ` : ""}${f.message}`} /></p>)}
        <ul class="plain">{looked.rows.map((x, i) => <li key={i}><Strange text={x.name} /> <span class="tag"><Strange text={String(x.action ?? x.result ?? "")} /></span>{x.error && <Strange text={x.error} />}{(x.errors ?? []).map((f, k) => <p class="bad" key={k}><Strange text={f.message} /></p>)}</li>)}</ul>
        <button type="button" class="primary" disabled={Boolean(looked.error) || !looked.rows.length} onClick={() => void take()}>{t.functions.take(looked.rows.length)}</button></>}
    </section>
  );
}
