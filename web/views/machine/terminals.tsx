// Terminals in a machine, a tab each. They outlive the view.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { writing } from "../../core/focus";
import { openTerminal, typeInTerminal } from "../../core/machines";
import { partOf } from "../../core/part";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Icon } from "../../parts/parts";
import type { Screen } from "./screen";

const SHELLS_MAX = 3; // of a browser, in all its tabs: each has a connection, of six, that it keeps
const SETTLED_MS = 100; // after the last change of its size
const AGAIN_MS = 50; // when the program has read nothing
const PAGE = crypto.randomUUID().slice(0, 8); // another page's terminals have other names
let runs = 0; // of shells, each in a terminal of its own

/** Keeps the order of what is typed: one request at a time, with all that was typed meanwhile. */
function keyboard(machine: string, name: string, failed: (e: unknown) => void) {
  const waits: Uint8Array[] = [];
  let busy = false, begun = false, size: [number, number] | null = null;
  const send = async () => {
    if (busy || !begun) return;
    busy = true;
    try {
      while (waits.length) {
        const all = new Uint8Array(await new Blob(waits.splice(0) as BlobPart[]).arrayBuffer());
        const taken = await typeInTerminal(machine, name, { bytes: all.subarray(0, 65536) });
        if (taken < all.length) waits.unshift(all.subarray(taken));
        if (!taken) await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    } catch (e) {
      waits.length = 0;
      failed(e);
    }
    busy = false;
  };
  let later: ReturnType<typeof setTimeout> | undefined;
  const resize = () => {
    clearTimeout(later);
    if (begun) later = setTimeout(() => { if (size) void typeInTerminal(machine, name, { rows: size[0], columns: size[1] }).catch(() => {}); }, SETTLED_MS);
  };
  return {
    type: (bytes: Uint8Array) => { waits.push(bytes); void send(); },
    size: (rows: number, columns: number) => { size = [rows, columns]; resize(); },
    end: () => clearTimeout(later),
    begin: () => { if (!begun) { begun = true; resize(); void send(); } }, // the command has said something: it is there
  };
}

const quiet = (text: string): string => `\r\n\x1b[2m${text.replace(/[^\x20-\x7e\xa0-\uffff]/g, " ")}\x1b[0m\r\n`;

/** A terminal and its shell. Both go on while another view is shown: what runs in it is not ended by looking at a note. */
interface Kept { host: HTMLDivElement; screen: Screen | null; stop: AbortController; reader: boolean; leave: () => void; type: (bytes: Uint8Array) => void; size: (rows: number, columns: number) => void; run: () => void }
/** Those of this page, by machine and tab. */
const kept = new Map<string, Map<number, Kept>>();

/** One of the places for shells, to be given back; null: all are taken. */
async function takePlace(): Promise<(() => void) | null> {
  if (!navigator.locks) return () => {};
  for (let n = 1; n <= SHELLS_MAX; n++) {
    const free = await new Promise<(() => void) | null>((got) => {
      void navigator.locks.request(`cloche shell ${n}`, { ifAvailable: true }, (lock) => (lock ? new Promise<void>((done) => got(done)) : got(null)));
    });
    if (free) return free;
  }
  return null;
}

function makeTerminal(machine: string): Kept {
  const stop = new AbortController();
  let keys: ReturnType<typeof keyboard> | null = null, ended = false;
  const run = async () => {
    const s = one.screen, name = `page-${PAGE}-${++runs}`;
    if (!s) return;
    ended = false;
    const free = await takePlace();
    if (!free) {
      ended = true;
      return s.write(quiet(t.machine.full(SHELLS_MAX)));
    }
    keys = keyboard(machine, name, (e) => { if (!ended && !stop.signal.aborted) s.write(quiet(wordsOf(e))); });
    try {
      const ran = await openTerminal(machine, name, { rows: s.rows, columns: s.columns }, (what) => { keys?.begin(); s.write(what); }, stop.signal);
      s.write(quiet(`${ran.timedOut ? t.machine.unused : ran.error ?? t.machine.left(ran.exitCode)} ${t.machine.again}`));
    } catch (e) {
      if (!stop.signal.aborted) s.write(quiet(`${wordsOf(e)} ${t.machine.again}`));
    }
    ended = true;
    free();
    keys.end();
    keys = null;
  };
  const type = (bytes: Uint8Array) => {
    if (keys) keys.type(bytes);
    else if (ended && bytes[0] === 13) void run();
  };
  const host = document.createElement("div");
  host.className = "terminal-host";
  const one: Kept = { host, screen: null, stop, reader: false, leave: () => {}, type, size: (rows, columns) => keys?.size(rows, columns), run: () => void run() };
  return one;
}

const getScreen = partOf(() => import("./screen"));

/** Its program could not be loaded: it is tried again. */
function sayNoScreen(one: Kept): void {
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = t.retry;
  again.addEventListener("click", () => { one.host.textContent = ""; void openIn(one); });
  one.host.replaceChildren(`${t.machine.noScreen} `, again);
}

/** Opens its screen where it is shown first. */
async function openIn(one: Kept): Promise<void> {
  const part = await getScreen().catch(() => null);
  if (!part) return sayNoScreen(one);
  if (one.screen || one.stop.signal.aborted || !one.host.isConnected) return;
  one.screen = part.openScreen(one.host, t.machine.typeHere, (text) => one.type(new TextEncoder().encode(text)), (text) => one.type(Uint8Array.from(text, (c) => c.charCodeAt(0))), one.size, () => one.leave());
  one.screen.reader(one.reader);
  if (!writing()) one.screen.focus();
  one.run();
}

function endTerminal(machine: string, tab: number): void {
  const one = kept.get(machine)?.get(tab);
  kept.get(machine)?.delete(tab);
  one?.stop.abort();
  one?.screen?.end();
}

/** Those of machines that are there no more. */
export function dropTerminals(there: readonly string[]): void {
  for (const [machine, tabs] of kept) {
    if (there.includes(machine)) continue;
    for (const tab of [...tabs.keys()]) endTerminal(machine, tab);
    kept.delete(machine);
  }
}

function TerminalTab({ machine, tab, hidden, reader, leave }: { machine: string; tab: number; hidden: boolean; reader: boolean; leave: () => void }) {
  const at = useRef<HTMLDivElement>(null);
  const [one] = useState(() => {
    const tabs = kept.get(machine) ?? new Map<number, Kept>();
    const it = tabs.get(tab) ?? makeTerminal(machine);
    kept.set(machine, tabs.set(tab, it));
    return it;
  });
  one.leave = leave;
  useEffect(() => {
    const watch = new ResizeObserver(() => { if (at.current?.offsetParent) one.screen?.fit(); });
    at.current!.append(one.host);
    watch.observe(at.current!);
    if (!one.screen) void openIn(one);
    else if (!hidden && !writing()) one.screen.focus();
    return () => { watch.disconnect(); one.host.remove(); };
  }, [machine, tab]);
  const was = useRef(hidden);
  useLayoutEffect(() => { if (was.current && !hidden) one.screen?.focus(); was.current = hidden; }, [hidden]); // before the next picture: a key may come at once
  useEffect(() => { one.reader = reader; one.screen?.reader(reader); }, [reader]);
  return <div class="terminal-tab" ref={at} hidden={hidden} />;
}

export function Terminals({ machine }: { machine: string }) {
  const [tabs, setTabs] = useState(() => (kept.get(machine)?.size ? [...kept.get(machine)!.keys()] : [1]));
  const [at, setAt] = useState(tabs[0]);
  const [reader, setReader] = useState(() => kept.get(machine)?.get(tabs[0])?.reader ?? false);
  const box = useRef<HTMLElement>(null);
  const field = () => box.current?.querySelector<HTMLElement>(".terminal-tab:not([hidden]) textarea");
  /** To its button; Tab then leads past the terminal, until that is gone back to. */
  const leave = () => {
    const left = field();
    if (left) left.tabIndex = -1;
    left?.addEventListener("focus", () => { left.tabIndex = 0; }, { once: true });
    box.current?.querySelector<HTMLElement>(".tabs [aria-pressed=true]")?.focus();
  };
  const add = () => {
    const next = Math.max(...tabs) + 1;
    setTabs([...tabs, next]);
    setAt(next);
  };
  const close = (tab: number) => {
    const left = tabs.filter((one) => one !== tab);
    endTerminal(machine, tab);
    setTabs(left);
    if (at === tab) setAt(left[left.length - 1]);
  };
  return (
    <section class="terminals" ref={box} aria-label={t.machine.terminals}>
      <nav class="tabs" aria-label={t.machine.terminals}>
        {tabs.map((tab) => <span key={tab} class="tab-pair"><button type="button" aria-pressed={tab === at} onClick={() => (tab === at ? field()?.focus() : setAt(tab))}>{t.machine.terminal(tab)}</button>
          {tabs.length > 1 && <button type="button" class="ghost" aria-label={t.machine.closeTerminal(tab)} onClick={() => close(tab)}><Icon name="close" size={13} /></button>}</span>)}
      </nav>
      <span class="terminal-acts"><button type="button" class="ghost" aria-pressed={reader} onClick={() => setReader(!reader)}>{t.machine.reader}</button>
        <button type="button" class="ghost" onClick={add} disabled={tabs.length >= SHELLS_MAX}>{t.machine.addTerminal}</button></span>
      {tabs.map((tab) => <TerminalTab key={tab} machine={machine} tab={tab} hidden={tab !== at} reader={reader} leave={leave} />)}
    </section>
  );
}
