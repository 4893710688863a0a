// A function for another vault: exported here, imported there.
import { useState } from "preact/hooks";
import { exportFunctions, forgetAll, isRefused, tryImport } from "../../core/functions";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import type { Vault } from "../../core/types";
import { spell } from "../../parts/parts";

export function Share({ vault, name, others, close }: { vault: string; name: string; others: Vault[]; close: () => void }) {
  const [to, setTo] = useState(others[0].id);
  const [conflict, setConflict] = useState("skip");
  const share = async () => {
    try {
      const said = await tryImport(to, await exportFunctions(vault, [name]), conflict, false);
      if (isRefused(said)) { toast(said.refused.error ?? said.refused.detail ?? t.functions.notShared, undefined, "bad"); return; }
      const action = said.functions?.[0]?.action ?? said.functions?.[0]?.result ?? "";
      if (/skip/.test(action)) { toast(t.functions.takenThere(spell(name)), undefined, "bad"); return; }
      toast(t.functions.shared(spell(name)), conflict === "skip" ? { text: t.undo, run: () => void forgetAll(to, [name], true).catch((e) => toast(wordsOf(e), undefined, "bad")) } : undefined);
      close();
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
    }
  };
  return (
    <form class="fn-share" onSubmit={(e) => { e.preventDefault(); void share(); }}>
      <label class="inline">{t.functions.shareTo}<select value={to} onChange={(e) => setTo(e.currentTarget.value)}>{others.map((v) => <option key={v.id} value={v.id}>{spell(v.name)}</option>)}</select></label>
      <label class="inline">{t.functions.ifTaken}<select value={conflict} onChange={(e) => setConflict(e.currentTarget.value)}>{Object.entries(t.functions.conflicts).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select></label>
      <button type="submit" class="primary">{t.functions.share}</button><button type="button" onClick={close}>{t.cancel}</button>
    </form>
  );
}
