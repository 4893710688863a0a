// What a person does from several views, each with its undo.
import { pause, resume, undo } from "./api";
import { lookToday, toast, wordsOf } from "./store";
import { t } from "./texts";
import type { Undone } from "./types";

/** Undoes a call, which can be undone in turn. null: it failed. */
export async function undoCall(vault: string, call: string, others = false): Promise<Undone | null> {
  try {
    const done = await undo(vault, call, others);
    const [first, ...more] = done.refused ?? [];
    const back = done.call;
    if (done.undone) toast(first ? t.undoneBut(done.notes, first.id, first.reason) : t.undone(done.notes), back ? { text: t.undo, run: () => void undoCall(vault, back) } : undefined);
    else if (first) toast(t.kept(first.id, first.reason, more.length), done.notes ? { text: t.others(done.notes), run: () => void undoCall(vault, call, true) } : undefined, "bad");
    return done;
  } catch (e) {
    toast(wordsOf(e), undefined, "bad");
    return null;
  }
}

export async function pauseCaller(vault: string, caller: string, name: string, on: boolean): Promise<void> {
  try {
    await (on ? pause(vault, caller) : resume(vault, caller));
    toast(on ? t.today.pausedToast(name) : t.today.resumedToast(name),
      { text: t.undo, run: () => void pauseCaller(vault, caller, name, !on) });
    void lookToday();
  } catch (e) {
    toast(wordsOf(e), undefined, "bad");
  }
}
