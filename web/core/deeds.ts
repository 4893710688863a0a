// What a person does from several views, each with its undo.
import { getActivity, pause, resume, undo } from "./api";
import { lookToday, toast, wordsOf } from "./store";
import { t } from "./texts";

/** Takes a call back; what took it back can be taken back in turn. */
export async function undoCall(vault: string, call: string): Promise<boolean> {
  try {
    const done = await undo(vault, call);
    if (!done.undone) {
      toast(t.kept(done.changedSince.map((one) => one.id)), undefined, "bad");
      return false;
    }
    const { records } = await getActivity(vault, { action: "POST /person/undo", caller: "page" }, "", 1);
    const back = records[0]?.intent;
    toast(t.undone(done.notes), back ? { text: t.undo, run: () => void undoCall(vault, back) } : undefined);
    return true;
  } catch (e) {
    toast(wordsOf(e), undefined, "bad");
    return false;
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
