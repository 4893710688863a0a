// A person's Linux machines: terminals in them, their files and ports, snapshots and copies, and what each costs.
import { useEffect, useRef, useState } from "preact/hooks";
import {
  closePort, exposePort, forkMachine, getMachines, getSnapshots, type Machine, removeSnapshot, restoreSnapshot, saveMachine, type Snapshot, startMachine, stopMachine,
} from "../../core/machines";
import { useNewest } from "../../core/newest";
import { goLater, place } from "../../core/router";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes, duration } from "../../core/time";
import { Confirm, Empty, Failure, Icon, Skeleton, Strange, Time } from "../../parts/parts";
import { Files } from "./files";
import { dropTerminals, Terminals } from "./terminals";

const LOOK_MS = 900; // machines tell no events: another page sees within a second what this one did
const SIZES = [256, 512, 1024]; // MB of memory

const nameOf = (m: Machine): string => m.name ?? (m.default ? t.machine.default : m.machine.slice(0, 9));

/** What a machine costs, in words. */
const costs = (m: Machine): string => [t.machine.memory(bytes(m.memory_bytes ?? 0), m.ramMB), t.machine.disk(bytes(m.disk_bytes ?? 0)), t.machine.compute(duration(m.compute_ms ?? 0)),
  m.network ? t.machine.online : t.machine.offline].join(" · ");

/** What is done to machines, one thing at a time; the view shows what has become of them before `said` does. `act`: false: it
 * failed. `make`: the machine that it makes is shown, unless the person has gone elsewhere meanwhile. */
interface Doing { busy: boolean; act: (what: () => Promise<unknown>, said?: string) => Promise<boolean>; make: (what: () => Promise<Machine>, said?: string) => void }

function Start({ doing: { busy, make } }: { doing: Doing }) {
  const [ram, setRam] = useState(512);
  const [network, setNetwork] = useState(false);
  return (
    <form class="start" onSubmit={(e) => { e.preventDefault(); make(() => startMachine({ ramMB: ram, network })); }}>
      <label>{t.machine.ram}<select value={ram} onChange={(e) => setRam(Number(e.currentTarget.value))}>{SIZES.map((mb) => <option key={mb} value={mb}>{mb} MB</option>)}</select></label>
      <label class="check"><input type="checkbox" checked={network} onChange={(e) => setNetwork(e.currentTarget.checked)} />{t.machine.network}</label>
      <button type="submit" class="primary" disabled={busy}><Icon name="play" size={15} />{t.machine.start}</button>
    </form>
  );
}

function Ports({ m, doing: { busy, act } }: { m: Machine; doing: Doing }) {
  const [port, setPort] = useState("");
  const number = Number(port);
  return (
    <section aria-label={t.machine.ports}><h3>{t.machine.ports}</h3>
      <ul>{(m.ports ?? []).map((p) => (
        <li key={p.port}><a href={p.url} target="_blank" rel="noreferrer">{p.url}</a><span class="quiet">{t.machine.portOf(p.port)}</span><button type="button" class="ghost" disabled={busy} onClick={() => void act(() => closePort(m.machine, p.port))}>{t.close}</button></li>
      ))}{!m.ports?.length && <li class="quiet">{t.machine.noPorts}</li>}</ul>
      <form class="inline" onSubmit={(e) => { e.preventDefault(); void act(() => exposePort(m.machine, number)).then((done) => { if (done) setPort(""); }); }}>
        <label><span class="visually-hidden">{t.machine.port}</span><input type="text" inputMode="numeric" placeholder={t.machine.port} value={port} onInput={(e) => setPort(e.currentTarget.value)} /></label>
        <button type="submit" disabled={busy || !(number >= 1 && number <= 65535)}>{t.machine.expose}</button>
      </form>
    </section>
  );
}

function Snapshots({ m, all, doing: { busy, act, make } }: { m: Machine | undefined; all: Snapshot[]; doing: Doing }) {
  const [name, setName] = useState("");
  const [sure, setSure] = useState<{ name: string; replaced: boolean } | null>(null); // what is to be deleted, or replaced
  const save = (of: Machine, as: string) => act(() => saveMachine(of.machine, as), t.machine.saved(as)).then((done) => { if (done) setName(""); });
  return (
    <section aria-label={t.machine.snapshots}><h3>{t.machine.snapshots}</h3>
      <ul>{all.map((one) => (
        <li key={one.name}><Strange text={one.name} /><span class="quiet">{bytes(one.bytes)} · <Time time={one.made} />{!one.usable && ` · ${t.machine.unusable}`}</span>
          <button type="button" class="ghost" disabled={busy || !one.usable} onClick={() => make(() => restoreSnapshot(one.name))}>{t.machine.restore}</button>
          <button type="button" class="ghost" disabled={busy} onClick={() => setSure({ name: one.name, replaced: false })}>{t.machine.remove}<span class="visually-hidden"> {one.name}</span></button></li>
      ))}{all.length === 0 && <li class="quiet">{t.machine.noSnapshots}</li>}</ul>
      {sure && <Confirm key={sure.name} sentence={sure.replaced ? t.machine.replaceSure(sure.name) : t.machine.removeSure(sure.name)} yes={sure.replaced ? t.machine.replace : t.machine.remove} onNo={() => setSure(null)}
        onYes={() => { setSure(null); return sure.replaced ? m && save(m, sure.name) : act(() => removeSnapshot(sure.name), t.machine.removed(sure.name)); }} />}
      {m && <form class="inline" onSubmit={(e) => { e.preventDefault(); if (all.some((one) => one.name === name)) setSure({ name, replaced: true }); else void save(m, name); }}>
        <label><span class="visually-hidden">{t.machine.snapshotName}</span><input type="text" placeholder={t.machine.snapshotName} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <button type="submit" disabled={busy || !/^[A-Za-z0-9._-]{1,60}$/.test(name)}>{t.machine.snapshot}</button>
      </form>}
    </section>
  );
}

export function MachineView() {
  const [machines, setMachines] = useState<Machine[] | null>(null);
  const [saved, setSaved] = useState<Snapshot[]>([]);
  const [failed, setFailed] = useState("");
  const [sure, setSure] = useState(""); // the machine that is to be stopped
  const [busy, setBusy] = useState(false);
  const begun = useRef(false); // before it is rendered
  const [adding, setAdding] = useState(false);
  const newest = useNewest([]);
  const look = () => newest(() => Promise.all([getMachines(), getSnapshots()]), ([all, kept]) => {
    setMachines(all);
    dropTerminals(all.map((m) => m.machine));
    setSaved(kept);
    setFailed("");
  }, (e) => setFailed(wordsOf(e)));
  useEffect(() => {
    let busy = false; // a slow server is not asked again meanwhile: the page's other requests would wait behind
    const lookOnce = async () => {
      if (busy) return;
      busy = true;
      await look();
      busy = false;
    };
    void lookOnce();
    const timer = setInterval(() => { if (!document.hidden) void lookOnce(); }, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const act = async (what: () => Promise<unknown>, said?: string, show?: () => void): Promise<boolean> => {
    if (begun.current) return false;
    begun.current = true;
    setBusy(true);
    let wrong: string | null = null;
    await what().catch((e: unknown) => { wrong = wordsOf(e); });
    await look();
    begun.current = false;
    setBusy(false);
    if (wrong !== null) {
      toast(wrong, undefined, "bad");
      return false;
    }
    setAdding(false);
    show?.();
    if (said) toast(said);
    return true;
  };
  const make = (what: () => Promise<Machine>, said?: string) => {
    const later = goLater();
    let made = "";
    void act(async () => { made = (await what()).machine; }, said, () => later(`/machine/${made}`, "replace"));
  };
  const doing = { busy, act, make };
  if (failed && !machines) return <div class="view machine"><Failure text={failed} retry={() => void look()} /></div>;
  if (!machines) return <div class="view machine"><Skeleton /></div>;
  const running = machines.filter((m) => m.state === "running");
  const one = running.find((m) => m.machine === place.value.parts[1]) ?? running.find((m) => m.default) ?? running[0];
  if (!one) return (
    <div class="view machine"><h1 class="visually-hidden">{t.machine.title}</h1>
      <Empty icon="machine" title={t.machine.none}><p class="quiet">{t.machine.noneHint}</p><Start doing={doing} />{saved.length > 0 && <Snapshots m={undefined} all={saved} doing={doing} />}</Empty></div>
  );
  return (
    <div class="view machine">
      <header class="machine-head">
        <h1>{t.machine.title}</h1>
        <nav aria-label={t.machine.list}>{running.map((m) => <a key={m.machine} href={`/machine/${m.machine}`} aria-current={m === one ? "true" : undefined}><Strange text={nameOf(m)} /></a>)}</nav>
        <button type="button" onClick={() => setAdding(!adding)} aria-expanded={adding}>{t.machine.another}</button>
        <button type="button" disabled={busy} onClick={() => make(() => forkMachine(one.machine), t.machine.forked)}>{t.machine.fork}</button>
        <button type="button" disabled={busy} onClick={() => setSure(one.machine)}>{t.machine.stop}</button>
      </header>
      {place.value.parts[1] && one.machine !== place.value.parts[1] && <p class="note-line" role="status">{t.machine.over}</p>}
      {adding && <Start doing={doing} />}
      {sure === one.machine && <Confirm sentence={t.machine.stopSure} yes={t.machine.stop} onYes={() => { setSure(""); return act(() => stopMachine(sure), t.machine.stopped); }} onNo={() => setSure("")} />}
      <p class="quiet costs">{costs(one)}{one.from && <> · {t.machine.from} <Strange text={one.from} /></>}</p>
      <div class="machine-body">
        <Terminals key={one.machine} machine={one.machine} />
        <aside><Files key={one.machine} machine={one.machine} /><Ports key={one.machine} m={one} doing={doing} /><Snapshots m={one} all={saved} doing={doing} /></aside>
      </div>
    </div>
  );
}
