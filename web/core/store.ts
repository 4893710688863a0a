// What several views share: the day, what waits, and what was said to the person last.
import { computed, signal } from "@preact/signals";
import { getApprovals, getToday, Refusal } from "./api";
import { hear } from "./events";
import { newest } from "./newest";
import { t } from "./texts";
import type { Approval, Today } from "./types";

/** A tab has its own; a new one begins with the one that was chosen last. */
export const vault = signal(sessionStorage.getItem("vault") ?? localStorage.getItem("vault") ?? "");
function keepVault(id: string): void {
  for (const kept of [sessionStorage, localStorage]) if (id) kept.setItem("vault", id); else kept.removeItem("vault");
  vault.value = id;
}
export const today = signal<Today | null>(null);
export const approvals = signal<Approval[] | null>(null);
export const trouble = signal("");
export const waiting = computed(() => approvals.value?.length ?? today.value?.waiting ?? 0);

export const wordsOf = (e: unknown): string => (e instanceof Refusal ? e.message : t.unreachable);

const day = newest();
export function chooseVault(id: string): void {
  day.turn();
  keepVault(id);
  today.value = null;
  void lookToday();
}

/** One request at a time, and one more when something changed meanwhile. */
function once(fn: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let again = false;
  const start = (): Promise<void> => {
    if (running) {
      again = true;
      return running;
    }
    running = fn().finally(() => {
      running = null;
      if (!again) return;
      again = false;
      void start();
    });
    return running;
  };
  return start;
}

export const lookToday = once(() => day.ask((signal) => getToday(vault.value, signal), (now) => {
  today.value = now;
  if (now.vault) sessionStorage.setItem("vault", now.vault);
  trouble.value = "";
}, (e) => {
  if (e instanceof Refusal && e.status === 404 && vault.value) keepVault(""); // a vault that is there no more
  trouble.value = wordsOf(e);
}));
export const lookApprovals = once(async () => {
  try {
    approvals.value = await getApprovals();
  } catch (e) {
    trouble.value = wordsOf(e);
  }
});

let soon = 0;
function lookSoon() {
  if (soon) return;
  soon = window.setTimeout(() => {
    soon = 0;
    void lookToday();
  }, 120);
}

export function startStore(): void {
  hear("hello", () => { void lookToday(); void lookApprovals(); });
  hear("approvals", () => void lookApprovals());
  hear("settings", lookSoon);
  hear("record", ({ vault: of, record }) => {
    if (!of || of === today.value?.vault || record.event !== "call") lookSoon();
  });
}

// ---- toasts ------------------------------------------------------------------------

export interface Toast { id: number; text: string; tone: "plain" | "bad"; act?: { text: string; run: () => void } }
export const toasts = signal<Toast[]>([]);
let count = 0;
export function toast(text: string, act?: Toast["act"], tone: Toast["tone"] = "plain"): void {
  const id = ++count;
  toasts.value = [...toasts.value.slice(-2), { id, text, act, tone }];
  const drop = () => {
    if (document.querySelector(".toasts:is(:hover, :focus-within)")) setTimeout(drop, 2_000); // somebody is about to use one
    else dropToast(id);
  };
  setTimeout(drop, act || tone === "bad" ? 10_000 : 5_000);
}
/** The newest undo that is offered. */
export function undoLast(): void {
  const one = toasts.value.filter((x) => x.act?.text === t.undo).pop();
  if (!one) return;
  dropToast(one.id);
  one.act!.run();
}
export const dropToast = (id: number): void => { toasts.value = toasts.value.filter((one) => one.id !== id); };
