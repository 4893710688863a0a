// Terminals in a machine, a tab each.
import { useEffect, useRef, useState } from "preact/hooks";
import { writing } from "../../core/focus";
import { openTerminal, typeInTerminal } from "../../core/machines";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Icon } from "../../parts/parts";
import type { Screen } from "./screen";

const TABS_MAX = 8;
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

function TerminalTab({ machine, tab, hidden, reader, leave }: { machine: string; tab: number; hidden: boolean; reader: boolean; leave: () => void }) {
  const at = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const reads = useRef(reader);
  reads.current = reader;
  useEffect(() => {
    const stop = new AbortController();
    let keys: ReturnType<typeof keyboard> | null = null, ended = false;
    const run = async () => {
      const s = screen.current, name = `page-${PAGE}-${++runs}`;
      if (!s) return;
      ended = false;
      keys = keyboard(machine, name, (e) => { if (!ended && !stop.signal.aborted) s.write(quiet(wordsOf(e))); });
      try {
        const ran = await openTerminal(machine, name, { rows: s.rows, columns: s.columns }, (what) => { keys?.begin(); s.write(what); }, stop.signal);
        s.write(quiet(`${ran.timedOut ? t.machine.unused : ran.error ?? t.machine.left(ran.exitCode)} ${t.machine.again}`));
      } catch (e) {
        if (!stop.signal.aborted) s.write(quiet(`${wordsOf(e)} ${t.machine.again}`));
      }
      ended = true;
      keys.end();
      keys = null;
    };
    const type = (bytes: Uint8Array) => {
      if (keys) keys.type(bytes);
      else if (ended && bytes[0] === 13) void run();
    };
    const watch = new ResizeObserver(() => { if (at.current?.offsetParent) screen.current?.fit(); });
    void import("./screen").then(({ openScreen }) => {
      if (stop.signal.aborted || !at.current) return;
      screen.current = openScreen(at.current, t.machine.typeHere, (text) => type(new TextEncoder().encode(text)), (text) => type(Uint8Array.from(text, (c) => c.charCodeAt(0))), (rows, columns) => keys?.size(rows, columns), leave);
      watch.observe(at.current);
      screen.current.reader(reads.current);
      if (!writing()) screen.current.focus();
      void run();
    });
    return () => {
      stop.abort();
      keys?.end();
      watch.disconnect();
      screen.current?.end();
    };
  }, [machine, tab]);
  useEffect(() => { if (!hidden) screen.current?.focus(); }, [hidden]);
  useEffect(() => screen.current?.reader(reader), [reader]);
  return <div class="terminal-tab" ref={at} hidden={hidden} />;
}

export function Terminals({ machine }: { machine: string }) {
  const [tabs, setTabs] = useState([1]);
  const [at, setAt] = useState(1);
  const [reader, setReader] = useState(false);
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
        <button type="button" class="ghost" onClick={add} disabled={tabs.length >= TABS_MAX}>{t.machine.addTerminal}</button></span>
      {tabs.map((tab) => <TerminalTab key={tab} machine={machine} tab={tab} hidden={tab !== at} reader={reader} leave={leave} />)}
    </section>
  );
}
