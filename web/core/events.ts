// The one stream of events, read with fetch, since its requests carry the page's key. When it
// breaks it is opened again, and whoever shows something looks anew.
import { signal } from "@preact/signals";
import { enter, keyOf } from "./api";
import type { Rec } from "./types";

export const live = signal<"opening" | "open" | "broken">("opening");

interface Heard { hello: { version: string }; record: { vault: string; record: Rec }; approvals: object; settings: object; compiling: { tool: string; seconds: number; simply: boolean } }
type Ears = { [K in keyof Heard]: Set<(data: Heard[K]) => void> };
const ears: Ears = { hello: new Set(), record: new Set(), approvals: new Set(), settings: new Set(), compiling: new Set() };

export function hear<K extends keyof Heard>(kind: K, fn: (data: Heard[K]) => void): () => void {
  ears[kind].add(fn);
  return () => { ears[kind].delete(fn); };
}

let greeted = 0;
/** When the stream was broken, and is there again: what came meanwhile was not heard. */
export const hearAgain = (fn: () => void): (() => void) => hear("hello", () => { if (greeted > 1) fn(); });

function tell(block: string) {
  let kind = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!(kind in ears)) return;
  const said = JSON.parse(data);
  if (kind === "hello") greeted++;
  for (const fn of ears[kind as keyof Heard]) (fn as (data: unknown) => void)(said);
  // Of a vault's own policy and tools a record tells alone.
  if (kind === "record" && /^(policy set|tool )/.test((said as Heard["record"]).record.event)) for (const fn of ears.settings) fn({});
}

async function listen(signal_: AbortSignal) {
  const ask = () => fetch("/person/events", { headers: { "X-Cloche-Key": keyOf() }, cache: "no-store", signal: signal_ });
  let answer = await ask();
  if (answer.status === 401 && (await enter())) answer = await ask(); // the server was started anew
  if (!answer.ok || !answer.body) throw new Error(String(answer.status));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  live.value = "open";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) tell(block);
  }
}

let stopping: AbortController | null = null;
export async function startListening(): Promise<void> {
  stopping?.abort();
  const mine = new AbortController();
  stopping = mine;
  for (let wait = 500; !mine.signal.aborted; wait = Math.min(wait * 2, 8000)) {
    try {
      await listen(mine.signal);
      wait = 500;
    } catch { /* tried again below */ }
    if (mine.signal.aborted) return;
    live.value = "broken";
    await new Promise((next) => setTimeout(next, wait));
  }
}
export const stopListening = (): void => stopping?.abort();
