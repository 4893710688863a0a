// Records in plain words: who did what.
import { t } from "./texts";
import type { Claim, Rec } from "./types";

export interface Who { name: string; claimed: boolean; detail: string; you: boolean }

export function whoIs(caller = "", client?: Claim | null): Who {
  if (caller === "terminal") return { name: t.youTerminal, claimed: false, detail: "", you: true };
  if (caller === "page") return { name: t.youPage, claimed: false, detail: "", you: true };
  const token = /^http token (.+)$/.exec(caller);
  const known = token ? `token ${token[1]}` : caller;
  if (client?.name) return { name: client.name, claimed: true, detail: [client.version, known].filter(Boolean).join(" · "), you: false };
  return { name: known || t.name, claimed: false, detail: "", you: false };
}

const VERBS: [RegExp, string][] = [
  [/^notes\.create|^create_note/, "created"], [/^notes\.(update|updateSection|append|prepend)|^update_note/, "edited"],
  [/^notes\.delete|^delete_note/, "deleted"], [/^notes\.(rename|move)|^(rename|move)_note/, "moved"],
  [/^notes\.restore|^notes\.batch/, "changed"],
];
const PLAIN: Record<string, string> = {
  evaluate_note_code: "ran code", run_script: "ran a script", search_notes: "searched", list_notes: "listed notes",
  get_note: "read a note",
};
const EVENTS: Record<string, string> = {
  alert: "raised an alert", pause: "was paused", resume: "was resumed", refused: "was not admitted", decision: "decided a request",
  approval: "asked for a decision", "page opened": "opened this page", "page refused": "used an invalid link",
  "token create": "created a token", "token revoke": "revoked a token", policy: "ran under a changed policy", "policy set": "changed the policy",
  "tool install": "installed a tool", "tool update": "updated a tool", "tool remove": "removed a tool",
  "tool enable": "enabled a tool", "tool disable": "disabled a tool", file: "began a new audit file", export: "exported records",
};

/** What was done, without who: "edited 2 notes". */
export function deedOf(r: Rec): string {
  if (r.event !== "call") return EVENTS[r.event] ?? r.event;
  const count = (r.notes?.length ?? 0) + (r.more_notes ?? 0);
  if (r.action === "POST /person/undo" && !r.changed) return "checked whether a call can be undone";
  if (r.action === "POST /person/undo") return `undid changes of ${t.notes(count)}`;
  if (r.changed && count) {
    const names = [r.action ?? "", ...Object.keys(r.calls ?? {})];
    const verbs = [...new Set(VERBS.filter(([like]) => names.some((name) => like.test(name))).map(([, verb]) => verb))];
    return `${verbs.length === 1 ? verbs[0] : "changed"} ${t.notes(count)}`;
  }
  const plain = PLAIN[r.action ?? ""];
  if (plain) return plain;
  if (r.action?.startsWith("wasm_")) return `ran ${r.action.slice(5)}`;
  return (r.action ?? "called").replaceAll("_", " ");
}

/** The subject of what is no call: which tool, which token. */
export const subjectOf = (r: Rec): string =>
  r.event === "call" ? r.target ?? "" : String(r.message ?? r.key ?? r.why ?? r.action ?? "");
