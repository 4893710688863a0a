// Other arguments in place of an agent's: a field for each. Nothing is allowed by it: the call asks
// anew, with what these would change.
import { useState } from "preact/hooks";
import { edit } from "../../core/api";
import { go } from "../../core/router";
import { approvals, lookApprovals, toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import type { Approval, Json } from "../../core/types";
import { useKeys } from "../../core/keys";
import { Strange } from "../../parts/parts";

const WAIT_MS = 150, LOOKS = 40; // the call asks again within a moment

/** Texts as they are, anything else as JSON. */
const written = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function read(was: Json, text: string): Json {
  return typeof was === "string" ? text : (JSON.parse(text) as Json);
}

/** The request that came instead; null: none did. */
async function next(known: Set<string>): Promise<string | null> {
  for (let i = 0; i < LOOKS; i++) {
    await lookApprovals();
    const one = approvals.value?.find((a) => !known.has(a.id));
    if (one) return one.id;
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
  return null;
}

export function EditArguments({ a, close }: { a: Approval; close: () => void }) {
  const given = a.arguments ?? {};
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(Object.entries(given).map(([name, value]) => [name, written(value)])));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  useKeys({ Escape: close });
  const ask = async () => {
    const named: Record<string, Json> = {};
    for (const [name, was] of Object.entries(given)) {
      try {
        named[name] = read(was, texts[name]);
      } catch {
        setWrong(name);
        return;
      }
    }
    setBusy(true);
    try {
      const known = new Set(approvals.value?.map((one) => one.id));
      await edit(a.id, named);
      toast(t.review.edited);
      const id = await next(known);
      close();
      if (id) go(`/review/${id}`, "replace");
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
      setBusy(false);
    }
  };
  return (
    <form class="edit-arguments" aria-label={t.review.editTitle} onSubmit={(e) => { e.preventDefault(); void ask(); }}>
      <p class="quiet">{t.review.editHint}</p>
      {Object.entries(given).map(([name, was], i) => (
        <label key={name}><span><Strange text={name} />{typeof was !== "string" && <span class="quiet"> JSON</span>}</span>
          <textarea ref={i === 0 ? (field) => field?.focus() : undefined} rows={Math.min(12, texts[name].split("\n").length + 1)} spellcheck={false}
            aria-invalid={wrong === name} value={texts[name]} onInput={(e) => { setTexts({ ...texts, [name]: e.currentTarget.value }); setWrong(""); }} />
          {wrong === name && <span class="bad" role="alert">{t.review.editWrong}</span>}
        </label>
      ))}
      <footer><button type="button" onClick={close}>{t.cancel}</button><button type="submit" class="primary" disabled={busy}>{t.review.editAsk}</button></footer>
    </form>
  );
}
