// What a checker of the server finds in what is typed: asked a moment after the last change, and again after a failure.
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "./api";
import { useNewest } from "./newest";
import { wordsOf } from "./store";

const CALM_MS = 300; // after the last change
const RETRY_MS = 5_000;

/** none: there is nothing to check. `found` is the last answer, also while the next one is awaited; after a failure there is none. */
export interface Check<T> { state: "none" | "checking" | "found" | "failed"; found: T | null; failed: string; again: () => void }

/** Whether asking again may help. */
const mayPass = (e: unknown): boolean => !(e instanceof Refusal) || e.status >= 500 || e.status === 429;

/** `ask` is null where there is nothing to check; `of` names all that it sends. Nothing that is typed waits for it. */
export function useCheck<T>(ask: ((signal: AbortSignal) => Promise<T>) | null, of: readonly unknown[]): Check<T> {
  const [check, setCheck] = useState<Omit<Check<T>, "again">>({ state: "none", found: null, failed: "" });
  const [retry, setRetry] = useState(false);
  const [turn, setTurn] = useState(0);
  const newest = useNewest(of);
  useEffect(() => {
    setRetry(false);
    if (!ask) { setCheck({ state: "none", found: null, failed: "" }); return; }
    setCheck((was) => ({ ...was, state: "checking" }));
    const timer = setTimeout(() => void newest(ask, (found) => setCheck({ state: "found", found, failed: "" }), (e) => {
      setCheck({ state: "failed", found: null, failed: wordsOf(e) });
      setRetry(mayPass(e));
    }), CALM_MS);
    return () => clearTimeout(timer);
  }, [...of, !ask, turn]);
  const again = () => setTurn((n) => n + 1);
  useEffect(() => {
    if (!retry) return;
    const timer = setInterval(() => { if (!document.hidden) again(); }, RETRY_MS);
    return () => clearInterval(timer);
  }, [retry]);
  return { ...check, again };
}
