// Other arguments in place of an agent's: a field for each. Nothing is allowed by it: the call asks
// anew, with what these would change.
import { useState } from "preact/hooks";
import { edit } from "../../core/api";
import { hear } from "../../core/events";
import { useFirstFocus } from "../../core/focus";
import { go, place } from "../../core/router";
import { approvals, lookApprovals, toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import type { Approval, Json, Rec } from "../../core/types";
import { useKeys } from "../../core/keys";
import { spell, Strange } from "../../parts/parts";

const WAIT_MS = 150, LOOKS = 40; // the call asks again, or ends, within a moment

/** Texts as they are, anything else as JSON. */
const written = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function read(was: Json, text: string): Json {
  return typeof was === "string" ? text : (JSON.parse(text) as Json);
}

const sameCaller = (a: Approval, b: { caller?: string; client?: { name: string } }): boolean => a.caller === b.caller && a.client?.name === b.client?.name;

/** The record of the call that asked: of the same caller, and under way since before it asked. */
const isOf = (a: Approval, r: Rec): boolean =>
  r.event === "call" && sameCaller(a, r) && Date.parse(r.time) - (r.ms ?? 0) < Date.parse(a.asked) + 1_000;

interface Outcome { asks?: string; ended?: { record: Rec; vault: string } }
/** Sends the edit. What came of it: another request, or the end of the call; neither: it still runs. */
async function send(a: Approval, named: Record<string, Json>): Promise<Outcome> {
  const known = new Set(approvals.value?.map((one) => one.id));
  let ended: Outcome["ended"];
  const off = hear("record", ({ record, vault }) => { if (isOf(a, record)) ended ??= { record, vault }; });
  try {
    await edit(a.id, named);
    for (let i = 0; i < LOOKS && a.waiting && !ended; i++) {
      await lookApprovals();
      const one = approvals.value?.find((other) => !known.has(other.id) && sameCaller(a, other));
      if (one) return { asks: one.id };
      await new Promise((done) => setTimeout(done, WAIT_MS));
    }
  } finally {
    off();
  }
  return { ended };
}

function say(a: Approval, { asks, ended }: Outcome): void {
  if (asks) toast(t.review.edited);
  else if (!ended) toast(a.waiting ? t.review.editedRuns : t.review.editedLater);
  else if (ended.record.result === "success") toast(t.review.editedDone);
  else {
    const { record, vault } = ended;
    toast(t.review.editedFailed(spell(record.result ?? "")), vault === today.value?.vault ? { text: t.review.openCall, run: () => go(`/activity/${record.mac}`) } : undefined, "bad");
  }
}

export function EditArguments({ a, close }: { a: Approval; close: () => void }) {
  const given = a.arguments ?? {};
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(Object.entries(given).map(([name, value]) => [name, written(value)])));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  useKeys({ Escape: close });
  const first = useFirstFocus<HTMLTextAreaElement>();
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
      const outcome = await send(a, named);
      say(a, outcome);
      close();
      void lookApprovals();
      if (outcome.asks && place.value.parts[0] === "review") go(`/review/${outcome.asks}`, "replace");
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
          <textarea ref={i === 0 ? first : undefined} rows={Math.min(12, texts[name].split("\n").length + 1)} spellcheck={false}
            aria-invalid={wrong === name} value={texts[name]} onInput={(e) => { setTexts({ ...texts, [name]: e.currentTarget.value }); setWrong(""); }} />
          {wrong === name && <span class="bad" role="alert">{t.review.editWrong}</span>}
        </label>
      ))}
      <footer><button type="button" onClick={close}>{t.cancel}</button><button type="submit" class="primary" disabled={busy}>{t.review.editAsk}</button></footer>
    </form>
  );
}
