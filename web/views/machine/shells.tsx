// Shells in a machine, a tab each: a line is run, and what it writes appears as it comes.
import { useEffect, useRef, useState } from "preact/hooks";
import { exec } from "../../core/machines";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { duration } from "../../core/time";
import { Icon, Key, Strange } from "../../parts/parts";

const LINES_MAX = 400, TEXT_MAX = 100_000; // of one shell; older ones are forgotten

interface Said { kind: "command" | "stdout" | "stderr" | "note"; text: string }

/** What is written goes behind what the same stream wrote last. */
function put(all: Said[], kind: Said["kind"], text: string): Said[] {
  const last = all[all.length - 1];
  const joined = last && last.kind === kind && kind !== "command" && kind !== "note" ? [...all.slice(0, -1), { kind, text: (last.text + text).slice(-TEXT_MAX) }] : [...all, { kind, text }];
  return joined.slice(-LINES_MAX);
}

function Shell({ machine, session, hidden }: { machine: string; session: string; hidden: boolean }) {
  const [said, setSaid] = useState<Said[]>([]);
  const [line, setLine] = useState("");
  const [past, setPast] = useState<string[]>([]);
  const [back, setBack] = useState(0); // how far back in them
  const running = useRef<AbortController | null>(null);
  const [busy, setBusy] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [said]);
  useEffect(() => () => running.current?.abort(), []);
  const tell = (kind: Said["kind"], text: string) => setSaid((all) => put(all, kind, text));
  const run = async () => {
    const command = line.trim();
    if (!command || running.current) return;
    const mine = new AbortController();
    running.current = mine;
    setBusy(true);
    setLine("");
    setBack(0);
    setPast((all) => [...all.filter((one) => one !== command), command].slice(-100));
    tell("command", command);
    try {
      const ran = await exec(machine, session, command, tell, mine.signal);
      const took = ran.stats?.wall_ms;
      if (ran.error) tell("note", ran.error);
      else if (ran.exitCode !== 0 || (took ?? 0) >= 1000) tell("note", t.machine.ended(ran.exitCode, took === undefined ? "" : duration(took)));
      if (ran.restarted) tell("note", ran.restarted);
    } catch (e) {
      tell("note", mine.signal.aborted ? t.machine.cancelled : wordsOf(e));
    }
    running.current = null;
    setBusy(false);
  };
  const recall = (by: number) => {
    const at = Math.min(Math.max(back + by, 0), past.length);
    setBack(at);
    setLine(at ? past[past.length - at] : "");
  };
  const press = (e: KeyboardEvent) => {
    if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      e.preventDefault();
      recall(e.key === "ArrowUp" ? 1 : -1);
    } else if (e.key === "c" && e.ctrlKey && running.current && !getSelection()?.toString()) {
      e.preventDefault();
      running.current.abort();
    } else if (e.key === "l" && e.ctrlKey) {
      e.preventDefault();
      setSaid([]);
    }
  };
  return (
    <div class="vm-shell" hidden={hidden} onKeyDown={press}>
      <div class="shell-out" role="log" aria-label={t.machine.output} tabIndex={0}>
        {said.length === 0 && <p class="quiet">{t.machine.shellHint}</p>}
        {said.map((one, i) => <div key={i} class={one.kind === "command" ? "typed" : one.kind}><Strange text={one.kind === "command" ? `$ ${one.text}` : one.text} block /></div>)}
        <div ref={end} />
      </div>
      <form class="shell-line" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <label><span aria-hidden="true">$</span><input type="text" ref={(field) => { if (!hidden && !said.length) field?.focus(); }} aria-label={t.machine.command} value={line} readOnly={busy} spellcheck={false} autocomplete="off" autocapitalize="off"
          onInput={(e) => setLine(e.currentTarget.value)} /></label>
        {busy ? <button type="button" onClick={() => running.current?.abort()}>{t.machine.stopCommand}<Key of="Ctrl C" /></button> : <button type="submit" disabled={!line.trim()}>{t.machine.run}<Key of="⏎" /></button>}
      </form>
    </div>
  );
}

export function Shells({ machine }: { machine: string }) {
  const [tabs, setTabs] = useState([1]);
  const [at, setAt] = useState(1);
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
    <section class="shells" aria-label={t.machine.shells}>
      <nav class="tabs" aria-label={t.machine.shells}>
        {tabs.map((tab) => <span key={tab} class="tab-pair"><button type="button" aria-pressed={tab === at} onClick={() => setAt(tab)}>{t.machine.shell(tab)}</button>
          {tabs.length > 1 && <button type="button" class="ghost" aria-label={t.machine.closeShell(tab)} onClick={() => close(tab)}><Icon name="close" size={13} /></button>}</span>)}
      </nav>
      <button type="button" class="ghost add-shell" onClick={add} disabled={tabs.length >= 8}>{t.machine.addShell}</button>
      {tabs.map((tab) => <Shell key={tab} machine={machine} session={`page-${tab}`} hidden={tab !== at} />)}
    </section>
  );
}
