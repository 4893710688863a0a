// Answers in the order of their questions: the server may answer an older one later, and that is not shown any more.
import { useLayoutEffect, useState } from "preact/hooks";

/** `got` or `bad` is called with the answer, unless it was overtaken. */
export type Ask = <T>(get: (signal: AbortSignal) => Promise<T>, got: (answer: T) => void, bad?: (e: unknown) => void) => Promise<void>;

/** Requests that are answered in one place: an answer counts unless a later one has been there. `turn`: those under way are
 * about something else than what is shown now, and are cancelled. */
export function newest(): { ask: Ask; turn: () => void } {
  let asked = 0;
  let answered = 0;
  let stop = new AbortController();
  const ask: Ask = async (get, got, bad) => {
    const mine = ++asked;
    const { signal } = stop;
    const counts = (): boolean => {
      if (signal.aborted || mine < answered) return false;
      answered = mine;
      return true;
    };
    await get(signal).then((answer) => { if (counts()) got(answer); }, (e: unknown) => { if (counts()) bad?.(e); });
  };
  const turn = () => { stop.abort(); stop = new AbortController(); };
  return { ask, turn };
}

/** The same for a view, about what is named by `of`: it turns when that is another, and when the view is left. */
export function useNewest(of: readonly unknown[]): Ask {
  const [line] = useState(newest);
  useLayoutEffect(() => line.turn, of);
  return line.ask;
}
