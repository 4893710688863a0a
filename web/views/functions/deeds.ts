// What a person does with functions from several places, each with its undo.
import { forgetAll, rollback, type Refused } from "../../core/functions";
import { Refusal } from "../../core/api";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { spell } from "../../core/spell";

/** A file that the browser keeps. */
export function saveFile(name: string, value: unknown): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(value, null, 2)], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Versions of a deleted function stay: the last one brings it back. `done`: they are deleted, at once or after the
 * person was told that others call them. */
export async function removeWithUndo(vault: string, names: string[], done: () => void, force = false): Promise<void> {
  try {
    const versions = await forgetAll(vault, names, force);
    const back = async () => {
      try {
        for (const [name, version] of Object.entries(versions)) await rollback(vault, name, version, true);
        toast(t.functions.isBack(names.map(spell).join(", ")));
      } catch (e) {
        toast(wordsOf(e), undefined, "bad");
      }
    };
    toast(t.functions.removed(names.map(spell).join(", ")), { text: t.undo, run: () => void back() });
    done();
  } catch (e) {
    const callers = e instanceof Refusal ? ((e.body as Refused | null)?.warnings ?? []).filter((w) => w.code === "CALLER_BREAKS") : [];
    toast(callers.length ? t.functions.called(names.map(spell).join(", ")) : wordsOf(e),
      callers.length ? { text: t.functions.removeAnyway, run: () => void removeWithUndo(vault, names, done, true) } : undefined, "bad");
  }
}
