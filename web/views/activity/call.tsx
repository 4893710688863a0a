// One call, whole: what it did, what it changed, and its undo.
import { useEffect, useState } from "preact/hooks";
import { getCall, getRevision, getRevisionBefore, Refusal } from "../../core/api";
import { undoCall } from "../../core/deeds";
import { useKeys } from "../../core/keys";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes, duration, exactly } from "../../core/time";
import type { Call, Rec, Undone } from "../../core/types";
import { deedOf, subjectOf, whoIs } from "../../core/who";
import { Diff, Unified } from "../../parts/diff";
import { Avatar, Failure, Icon, Key, Skeleton, Strange, WhoMark } from "../../parts/parts";
import { Timeline } from "./timeline";

const FEW = 12; // host calls that need no count by name beside their timeline

interface Pair { before: string; after: string; made: boolean; gone: boolean }

/** What one note held before the call and after it. */
function NoteDiff({ vault, id, first, last, open: opened }: { vault: string; id: string; first: number; last: number; open: boolean }) {
  const [open, setOpen] = useState(opened);
  const [pair, setPair] = useState<Pair | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    if (!open || pair) return;
    Promise.all([getRevisionBefore(vault, id, first), getRevision(vault, id, last)]).then(
      ([before, after]) => {
        const gone = after.action === "delete";
        setPair({ before: before?.markdown ?? "", after: gone ? "" : after.markdown, made: !before, gone });
      },
      (e) => setFailed(e instanceof Refusal && e.status === 404 ? t.call.missing : wordsOf(e)));
  }, [open]);
  return (
    <section class="note-diff">
      <button type="button" class="note-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "chevron"} size={14} /><Icon name="note" size={15} /><Strange text={id} />
        {pair?.made && <span class="tag good">{t.call.created}</span>}{pair?.gone && <span class="tag bad">{t.call.deleted}</span>}
      </button>
      {open && (failed ? <p class="quiet pad">{failed}</p> : pair ? <Diff before={pair.before} after={pair.after} /> : <Skeleton lines={3} />)}
    </section>
  );
}

function Counts({ of, cls = "" }: { of?: Record<string, number>; cls?: string }) {
  const rows = Object.entries(of ?? {}).sort((a, b) => b[1] - a[1]);
  const most = rows[0]?.[1] ?? 1;
  return <>{rows.map(([name, n]) => (
    <div class={`count-row ${cls}`} key={name}><Strange text={name} /><meter min={0} max={most} value={n} aria-hidden="true" /><span>{n.toLocaleString()}</span></div>
  ))}</>;
}

function Facts({ r }: { r: Rec }) {
  const facts: [string, string | undefined][] = [
    [t.call.when, exactly(r.time)], [t.call.result, r.result], [t.call.level, r.level],
    [t.call.took, r.ms === undefined ? undefined : duration(r.ms)], [t.call.cpu, r.cpu_ms === undefined ? undefined : duration(r.cpu_ms)],
    [t.call.memory, r.peak_memory_bytes ? bytes(r.peak_memory_bytes) : undefined],
  ];
  return <dl class="facts">{facts.filter(([, v]) => v).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

/** Each note once, from its first to its last revision in this call. */
function touched(call: Call): { id: string; first: number; last: number }[] {
  const all = new Map<string, { id: string; first: number; last: number }>();
  for (const { id, revision } of call.history?.changes ?? []) {
    const one = all.get(id) ?? { id, first: revision, last: revision };
    all.set(id, { id, first: Math.min(one.first, revision), last: Math.max(one.last, revision) });
  }
  return [...all.values()];
}

/** Why a call, or a part of it, was not undone: what came since, by note. */
function Staying({ of, busy, others }: { of: Undone; busy: boolean; others: () => void }) {
  const title = of.undone ? t.call.stayed : t.call.stay;
  return (
    <section class="stays" aria-label={title}>
      <h3>{title}</h3>
      {of.refused!.map((one) => (
        <section class="note-diff" key={one.id}>
          <p class="note-head"><Icon name="note" size={15} /><Strange text={one.id} /><span class="quiet">{one.reason}{one.changed_by && <> {t.call.by(whoIs(one.changed_by).name)}</>}</span></p>
          {one.diff_since && <><h4>{t.call.since}</h4><Unified lines={one.diff_since.replace(/\n$/, "").split("\n")} /></>}
        </section>
      ))}
      {!of.undone && of.notes > 0 && <button type="button" class="wide-button" disabled={busy} onClick={others}><Icon name="undo" size={16} />{t.others(of.notes)}</button>}
    </section>
  );
}

export function CallView({ vault, mac, close }: { vault: string; mac: string; close: () => void }) {
  const [call, setCall] = useState<Call | null>(null);
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const [stay, setStay] = useState<Undone | null>(null);
  const look = () => { setFailed(""); setStay(null); getCall(vault, mac).then(setCall, (e) => setFailed(wordsOf(e))); };
  useEffect(look, [vault, mac]);
  const r = call?.record;
  const notes = call ? touched(call) : [];
  const can = Boolean(r?.intent && notes.length);
  const back = async (others = false) => {
    if (!can || busy) return;
    setBusy(true);
    const done = await undoCall(call!.vault, r!.intent!, others);
    setStay(done?.refused?.length ? done : null);
    setBusy(false);
  };
  useKeys({ u: () => void back() });
  const subject = r ? subjectOf(r) : "";
  const who = whoIs(r?.caller, r?.client);
  return (
    <aside class="drawer" aria-label={t.places.activity}>
      <button type="button" class="ghost drawer-close" aria-label={t.close} onClick={close}><Icon name="close" size={16} /></button>
      {failed && <Failure text={failed} retry={look} />}
      {!r && !failed && <Skeleton lines={8} />}
      {r && (
        <>
          <header class="drawer-head">
            <Avatar name={who.name} you={who.you} />
            <div><h2><WhoMark caller={r.caller} client={r.client} /> {deedOf(r)}</h2>{subject && <p><Strange text={subject} /></p>}</div>
          </header>
          {can && <button type="button" class="wide-button" disabled={busy} onClick={() => void back()}><Icon name="undo" size={16} />{t.call.undo}<Key of="U" /></button>}
          {stay?.refused && <Staying of={stay} busy={busy} others={() => void back(true)} />}
          <Facts r={r} />
          {notes.length > 0 && <section><h3>{t.call.notes}</h3>{notes.map((n) => <NoteDiff key={n.id} vault={call!.vault} {...n} open={notes.length <= 3} />)}</section>}
          {(r.calls || r.denied || r.failed) && <section><h3>{t.call.hostCalls}</h3>{call!.timeline && call!.timeline.calls.length > 0 && <Timeline told={call!.timeline} total={r.ms ?? 0} />}{!(call!.timeline && call!.timeline.calls.length < FEW) && <Counts of={r.calls} />}{r.denied && <h4>{t.call.denied}</h4>}<Counts of={r.denied} cls="bad" />{r.failed && <h4>{t.call.failed}</h4>}<Counts of={r.failed} cls="bad" /></section>}
          {r.tools && <section><h3>{t.call.tools}</h3>{r.tools.map((one, i) => <p class="line" key={i}><Strange text={`${one.tool} ${one.version ?? ""}`} /><span class="quiet">{one.result}{one.exit ? ` (${one.exit})` : ""}{one.ms !== undefined && ` · ${duration(one.ms)}`}</span></p>)}</section>}
          {r.functions && <section><h3>{t.call.functions}</h3>{r.functions.map((one) => <p class="line" key={one.name}><Strange text={one.name} /><span class="quiet">{t.calls(one.calls)}</span></p>)}</section>}
          {r.hosts && <section><h3>{t.call.hosts}</h3>{r.hosts.map((h) => <p key={h}><Strange text={h} /></p>)}</section>}
          {r.code && <section><h3>{t.call.code}</h3>{call!.code ? <Strange text={call!.code} block /> : <p class="quiet">{t.call.codeNotKept}</p>}</section>}
          <details><summary>{t.call.raw}</summary><Strange text={JSON.stringify(r, null, 2)} block /></details>
        </>
      )}
    </aside>
  );
}
