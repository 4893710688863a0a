// A person's Linux machines: terminals in them, their files and ports, snapshots and copies, and what each costs.
import { useEffect, useState } from "preact/hooks";
import {
  closePort, exposePort, forkMachine, getMachines, getSnapshots, type Machine, removeSnapshot, restoreSnapshot, saveMachine, type Snapshot, startMachine, stopMachine,
} from "../../core/machines";
import { useNewest } from "../../core/newest";
import { go, place } from "../../core/router";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes, duration } from "../../core/time";
import { Confirm, Empty, Failure, Icon, Skeleton, Strange, Time } from "../../parts/parts";
import { Files } from "./files";
import { Terminals } from "./terminals";

const LOOK_MS = 900; // machines tell no events: another page sees within a second what this one did
const SIZES = [256, 512, 1024]; // MB of memory

const nameOf = (m: Machine): string => m.name ?? (m.default ? t.machine.default : m.machine.slice(0, 9));

/** What a machine costs, in words. */
const costs = (m: Machine): string => [t.machine.memory(bytes(m.memory_bytes ?? 0), m.ramMB), t.machine.disk(bytes(m.disk_bytes ?? 0)), t.machine.compute(duration(m.compute_ms ?? 0)),
  m.network ? t.machine.online : t.machine.offline].join(" · ");

function Start({ act }: { act: (what: () => Promise<unknown>, said?: string) => Promise<void> }) {
  const [ram, setRam] = useState(512);
  const [network, setNetwork] = useState(false);
  const [busy, setBusy] = useState(false);
  return (
    <form class="start" onSubmit={(e) => { e.preventDefault(); setBusy(true); void act(async () => { const made = await startMachine({ ramMB: ram, network }); go(`/machine/${made.machine}`, "replace"); }).finally(() => setBusy(false)); }}>
      <label>{t.machine.ram}<select value={ram} onChange={(e) => setRam(Number(e.currentTarget.value))}>{SIZES.map((mb) => <option key={mb} value={mb}>{mb} MB</option>)}</select></label>
      <label class="check"><input type="checkbox" checked={network} onChange={(e) => setNetwork(e.currentTarget.checked)} />{t.machine.network}</label>
      <button type="submit" class="primary" disabled={busy}><Icon name="play" size={15} />{t.machine.start}</button>
    </form>
  );
}

function Ports({ m, act }: { m: Machine; act: (what: () => Promise<unknown>, said?: string) => Promise<void> }) {
  const [port, setPort] = useState("");
  const number = Number(port);
  return (
    <section aria-label={t.machine.ports}><h3>{t.machine.ports}</h3>
      <ul>{(m.ports ?? []).map((p) => (
        <li key={p.port}><a href={p.url} target="_blank" rel="noreferrer">{p.url}</a><span class="quiet">{t.machine.portOf(p.port)}</span><button type="button" class="ghost" onClick={() => void act(() => closePort(m.machine, p.port))}>{t.close}</button></li>
      ))}{!m.ports?.length && <li class="quiet">{t.machine.noPorts}</li>}</ul>
      <form class="inline" onSubmit={(e) => { e.preventDefault(); void act(() => exposePort(m.machine, number)).then(() => setPort("")); }}>
        <label><span class="visually-hidden">{t.machine.port}</span><input type="text" inputMode="numeric" placeholder={t.machine.port} value={port} onInput={(e) => setPort(e.currentTarget.value)} /></label>
        <button type="submit" disabled={!(number >= 1 && number <= 65535)}>{t.machine.expose}</button>
      </form>
    </section>
  );
}

function Snapshots({ m, all, act }: { m: Machine | undefined; all: Snapshot[]; act: (what: () => Promise<unknown>, said?: string) => Promise<void> }) {
  const [name, setName] = useState("");
  return (
    <section aria-label={t.machine.snapshots}><h3>{t.machine.snapshots}</h3>
      <ul>{all.map((one) => (
        <li key={one.name}><Strange text={one.name} /><span class="quiet">{bytes(one.bytes)} · <Time time={one.made} />{!one.usable && ` · ${t.machine.unusable}`}</span>
          <button type="button" class="ghost" disabled={!one.usable} onClick={() => void act(async () => { const made = await restoreSnapshot(one.name); go(`/machine/${made.machine}`, "replace"); })}>{t.machine.restore}</button>
          <button type="button" class="ghost" onClick={() => void act(() => removeSnapshot(one.name), t.machine.removed(one.name))}>{t.machine.remove}</button></li>
      ))}{all.length === 0 && <li class="quiet">{t.machine.noSnapshots}</li>}</ul>
      {m && <form class="inline" onSubmit={(e) => { e.preventDefault(); void act(() => saveMachine(m.machine, name), t.machine.saved(name)).then(() => setName("")); }}>
        <label><span class="visually-hidden">{t.machine.snapshotName}</span><input type="text" placeholder={t.machine.snapshotName} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <button type="submit" disabled={!/^[A-Za-z0-9._-]{1,60}$/.test(name)}>{t.machine.snapshot}</button>
      </form>}
    </section>
  );
}

export function MachineView() {
  const [machines, setMachines] = useState<Machine[] | null>(null);
  const [saved, setSaved] = useState<Snapshot[]>([]);
  const [failed, setFailed] = useState("");
  const [sure, setSure] = useState(false);
  const [adding, setAdding] = useState(false);
  const newest = useNewest([]);
  const look = () => newest(() => Promise.all([getMachines(), getSnapshots()]), ([all, kept]) => {
    setMachines(all);
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
  const act = async (what: () => Promise<unknown>, said?: string) => {
    try {
      await what();
      if (said) toast(said);
      setAdding(false);
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
    }
    await look();
  };
  if (failed && !machines) return <div class="view machine"><Failure text={failed} retry={() => void look()} /></div>;
  if (!machines) return <div class="view machine"><Skeleton /></div>;
  const running = machines.filter((m) => m.state === "running");
  const one = running.find((m) => m.machine === place.value.parts[1]) ?? running.find((m) => m.default) ?? running[0];
  if (!one) return (
    <div class="view machine"><h1 class="visually-hidden">{t.machine.title}</h1>
      <Empty icon="machine" title={t.machine.none}><p class="quiet">{t.machine.noneHint}</p><Start act={act} />{saved.length > 0 && <Snapshots m={undefined} all={saved} act={act} />}</Empty></div>
  );
  return (
    <div class="view machine">
      <header class="machine-head">
        <h1>{t.machine.title}</h1>
        <nav aria-label={t.machine.list}>{running.map((m) => <a key={m.machine} href={`/machine/${m.machine}`} aria-current={m === one ? "true" : undefined}><Strange text={nameOf(m)} /></a>)}</nav>
        <button type="button" onClick={() => setAdding(!adding)} aria-expanded={adding}>{t.machine.another}</button>
        <button type="button" onClick={() => void act(async () => { const made = await forkMachine(one.machine); go(`/machine/${made.machine}`, "replace"); }, t.machine.forked)}>{t.machine.fork}</button>
        <button type="button" onClick={() => setSure(true)}>{t.machine.stop}</button>
      </header>
      {place.value.parts[1] && one.machine !== place.value.parts[1] && <p class="note-line" role="status">{t.machine.over}</p>}
      {adding && <Start act={act} />}
      {sure && <Confirm sentence={t.machine.stopSure} yes={t.machine.stop} onYes={() => { setSure(false); void act(() => stopMachine(one.machine), t.machine.stopped); }} onNo={() => setSure(false)} />}
      <p class="quiet costs">{costs(one)}{one.from && <> · {t.machine.from} <Strange text={one.from} /></>}</p>
      <div class="machine-body">
        <Terminals key={one.machine} machine={one.machine} />
        <aside><Files key={one.machine} machine={one.machine} /><Ports m={one} act={act} /><Snapshots m={one} all={saved} act={act} /></aside>
      </div>
    </div>
  );
}
