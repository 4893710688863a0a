// The one stream of events of this browser, read with fetch, since its requests carry the page's key. The tab that
// has the lock reads it and passes it on to the others: a browser opens few connections to one server. When it
// breaks it is opened again, and whoever shows something looks anew.
import { signal } from "@preact/signals";
import { enter, keyOf, tellOut } from "./api";
import type { Rec } from "./types";

export const live = signal<"opening" | "open" | "broken">("opening");

interface Heard { hello: { version: string }; record: { vault: string; record: Rec; look?: boolean }; approvals: object; settings: object; compiling: { tool: string; seconds: number; simply: boolean } }
type Ears = { [K in keyof Heard]: Set<(data: Heard[K]) => void> };
const ears: Ears = { hello: new Set(), record: new Set(), approvals: new Set(), settings: new Set(), compiling: new Set() };

export function hear<K extends keyof Heard>(kind: K, fn: (data: Heard[K]) => void): () => void {
  ears[kind].add(fn);
  return () => { ears[kind].delete(fn); };
}

let greeted = 0;
/** When the stream was broken, and is there again: what came meanwhile was not heard. */
export const hearAgain = (fn: () => void): (() => void) => hear("hello", () => { if (greeted > 1) fn(); });

/** Its kind. */
function tell(block: string): string {
  let kind = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!(kind in ears)) return kind;
  const said = JSON.parse(data);
  if (kind === "hello") greeted++;
  for (const fn of ears[kind as keyof Heard]) (fn as (data: unknown) => void)(said);
  // Of a vault's own policy and tools a record tells alone.
  if (kind === "record" && /^(policy set|tool )/.test((said as Heard["record"]).record.event)) for (const fn of ears.settings) fn({});
  return kind;
}

// ---- the tab that reads --------------------------------------------------------------

/** `ask`: a tab that has just come asks how it stands; `out`: the browser is not known any more. */
type Word = { block: string } | { state: typeof live.value; hello: string } | { ask: true } | { out: true };
const others = "BroadcastChannel" in window ? new BroadcastChannel("cloche events") : null;
const say = (word: Word): void => others?.postMessage(word);
let reads = false; // this tab is the one
let hello = "";

function become(state: typeof live.value): void {
  live.value = state;
  say({ state, hello });
}

/** The server knows this browser no more. */
class Out extends Error {}

async function listen(signal_: AbortSignal) {
  const ask = () => fetch("/person/events", { headers: { "X-Cloche-Key": keyOf() }, cache: "no-store", signal: signal_ });
  let answer = await ask();
  if (answer.status === 401) {
    if (!(await enter())) throw new Out();
    answer = await ask(); // the server was started anew
  }
  if (!answer.ok || !answer.body) throw new Error(String(answer.status));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  become("open");
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      if (tell(block) === "hello") hello = block;
      say({ block });
    }
  }
}

async function readOn(signal_: AbortSignal): Promise<void> {
  for (let wait = 500; !signal_.aborted; wait = Math.min(wait * 2, 8000)) {
    try {
      await listen(signal_);
      wait = 500;
    } catch (e) {
      if (e instanceof Out) {
        say({ out: true });
        tellOut();
        return;
      }
    }
    if (signal_.aborted) return;
    become("broken");
    await new Promise((next) => setTimeout(next, wait));
  }
}

function heed(word: Word): void {
  if ("ask" in word) {
    if (reads && hello) say({ state: live.value, hello });
  } else if ("out" in word) void enter().then((known) => { if (!known) tellOut(); }, () => {});
  else if ("block" in word) tell(word.block);
  else {
    live.value = word.state;
    if (!greeted && word.hello) tell(word.hello);
  }
}

let stopping: AbortController | null = null;
export async function startListening(): Promise<void> {
  stopping?.abort();
  const mine = new AbortController();
  stopping = mine;
  const read = async (): Promise<void> => {
    reads = true;
    await readOn(mine.signal);
    reads = false;
  };
  if (!others || !navigator.locks) return read();
  others.onmessage = ({ data }: MessageEvent<Word>) => { if (stopping === mine && !mine.signal.aborted) heed(data); };
  say({ ask: true });
  await navigator.locks.request("cloche events", { signal: mine.signal }, read).catch(() => {}); // it was stopped while it waited
}
export const stopListening = (): void => stopping?.abort();
