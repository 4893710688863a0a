// What an approval asks for, in a few words of ours.
import { t } from "../../core/texts";
import type { Approval } from "../../core/types";
import { spell } from "../../parts/parts";

const one = (value: string | string[] | undefined): string => (Array.isArray(value) ? value[0] : value) ?? "";

/** The host call that is kept for the person: "notes.rename". */
export const callOf = (a: Approval): string => (a.kind === "call" ? one(a.shown.call) : "");

/** The note that it is about, as far as its arguments name one. */
export function noteOf(a: Approval): string {
  const lines = a.shown.arguments;
  const found = (Array.isArray(lines) ? lines : [lines ?? ""]).map((line) => /^identifier: (.+)$/.exec(line)).find(Boolean);
  return found?.[1] ?? "";
}

export function wishOf(a: Approval): string {
  const call = callOf(a);
  if (call) return t.review.calls[call] ?? t.review.wants.call(spell(call));
  return (t.review.wants[a.kind] ?? t.review.wants.run)(spell(a.tools.join(", ").slice(0, 80)));
}

/** The id in "PATH (ID)", or the folder's name. */
export function vaultOf(a: Approval): string {
  const text = one(a.shown.vault);
  return /\(([^()]+)\)$/.exec(text)?.[1] ?? text.split("/").at(-1)!;
}
