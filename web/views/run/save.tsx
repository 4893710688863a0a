// A program that is kept: as a custom function, which agents call by its name.
import { useState } from "preact/hooks";
import { asFunction, forget, register } from "../../core/code";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Strange } from "../../parts/parts";

export function SaveForm({ vault, code, context, close }: { vault: string; code: string; context: object | null; close: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const remove = () => void forget(vault, name).then(() => toast(t.run.removed(name)), (e) => toast(wordsOf(e), undefined, "bad"));
  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailed("");
    try {
      await register(vault, asFunction(name, description, code, context));
      toast(t.run.saved(name), { text: t.undo, run: remove });
      close();
    } catch (e) {
      setFailed(wordsOf(e));
      setBusy(false);
    }
  };
  return (
    <form class="run-save" onSubmit={(e) => void save(e)} aria-label={t.run.save}>
      <label>{t.run.name}<input type="text" required maxLength={64} pattern="[A-Za-z_$][A-Za-z0-9_$]*" spellcheck={false} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label class="wide">{t.run.description}<input type="text" required value={description} onInput={(e) => setDescription(e.currentTarget.value)} /></label>
      <button type="submit" class="primary" disabled={busy}>{t.run.store}</button><button type="button" onClick={close}>{t.cancel}</button>
      <p class="quiet">{t.run.saveHint}</p>
      {failed && <div class="bad" role="alert"><Strange text={failed} block /></div>}
    </form>
  );
}
