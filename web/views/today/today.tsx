// Four questions without a click: who is there, what waits, what changed, is all well.
import { useEffect, useMemo, useState } from "preact/hooks";
import { serverNow } from "../../core/api";
import { pauseCaller, undoCall } from "../../core/deeds";
import { useKeys } from "../../core/keys";
import { go } from "../../core/router";
import { approvals, lookToday, today, trouble, waiting } from "../../core/store";
import { t } from "../../core/texts";
import type { Agent, Rec } from "../../core/types";
import { deedOf, subjectOf, whoIs } from "../../core/who";
import { Avatar, Empty, Failure, Icon, Skeleton, spell, Strange, Time, WhoMark } from "../../parts/parts";
import { noteOf, wishOf } from "../review/wish";

const LOOKED = "looked";

function Waiting() {
  const list = approvals.value ?? [];
  if (!waiting.value) return <p class="calm"><Icon name="check" size={16} />{t.today.nothingWaits}</p>;
  return (
    <section class="card waiting" aria-labelledby="waiting">
      <header><h2 id="waiting">{t.today.waits(waiting.value)}</h2><a class="button primary" href="/review">{t.today.review}</a></header>
      <ul>{list.slice(0, 3).map((a) => (
        <li key={a.id}><a href={`/review/${a.id}`}><WhoMark caller={a.caller} client={a.client} /> <span>{wishOf(a)}</span> {noteOf(a) && <Strange text={noteOf(a)} />}<Time time={a.asked} /></a></li>
      ))}</ul>
    </section>
  );
}

function Change({ r, vault, chosen }: { r: Rec; vault: string; chosen: boolean }) {
  const who = whoIs(r.caller, r.client);
  const notes = r.notes ?? [];
  const more = (r.more_notes ?? 0) + Math.max(0, notes.length - 3);
  return (
    <li class={`change${chosen ? " chosen" : ""}`}>
      <a href={`/activity/${r.mac}`}>
        <Avatar name={who.name} you={who.you} />
        <span class="change-what">
          <span class="change-line"><WhoMark caller={r.caller} client={r.client} plain /> {deedOf(r)}{r.result !== "success" && <span class="bad-word">{r.result}</span>}</span>
          <span class="notes">{notes.slice(0, 3).map((n) => <Strange key={n} text={n} />)}{more > 0 && <span class="quiet">+{more}</span>}</span>
        </span>
        <Time time={r.time} />
      </a>
      {r.intent && <button type="button" class="undo" onClick={() => void undoCall(vault, r.intent!)}><Icon name="undo" size={15} />{t.undo}</button>}
    </li>
  );
}

function Changes() {
  const day = today.value!;
  const [looked] = useState(() => localStorage.getItem(LOOKED) ?? "");
  const [at, setAt] = useState(-1);
  useEffect(() => {
    const mark = () => localStorage.setItem(LOOKED, serverNow());
    addEventListener("pagehide", mark);
    return () => { removeEventListener("pagehide", mark); mark(); };
  }, []);
  const { fresh, earlier } = useMemo(() => ({
    fresh: day.changes.filter((r) => r.time > looked), earlier: day.changes.filter((r) => r.time <= looked),
  }), [day, looked]);
  const order = [...fresh, ...earlier];
  useKeys({
    j: () => setAt(Math.min(at + 1, order.length - 1)), k: () => setAt(Math.max(at - 1, 0)),
    Enter: () => order[at] && go(`/activity/${order[at].mac}`),
    u: () => { const call = order[at]?.intent; if (call) void undoCall(day.vault, call); },
    "/": () => go("/activity?focus=search"),
  });
  const list = (rows: Rec[], from: number) => <ul class="changes">{rows.map((r, i) => <Change key={r.mac} r={r} vault={day.vault} chosen={at === from + i} />)}</ul>;
  return (
    <section aria-labelledby="changes">
      <header class="section"><h2 id="changes">{t.today.changes}</h2><span class="quiet">{t.today.since}</span><a class="more" href="/activity">{t.today.all}<Icon name="chevron" size={14} /></a></header>
      {!order.length && <div class="card soft"><p>{t.today.nothingChanged}</p><p class="quiet">{t.today.nothingChangedHint}</p></div>}
      {fresh.length > 0 && earlier.length > 0 && <h3>{t.today.newSince}</h3>}
      {fresh.length > 0 && list(fresh, 0)}
      {fresh.length > 0 && earlier.length > 0 && <h3>{t.today.earlier}</h3>}
      {earlier.length > 0 && list(earlier, fresh.length)}
    </section>
  );
}

function AgentCard({ a, vault }: { a: Agent; vault: string }) {
  const client = a.name ? { name: a.name, version: a.version } : null;
  const who = whoIs(a.caller, client);
  const recent = Date.now() - Date.parse(a.last) < 120_000;
  return (
    <li class="agent">
      <span class={`pulse${a.paused ? " paused" : recent ? " on" : ""}`} aria-hidden="true" />
      <div class="agent-what">
        <p><WhoMark caller={a.caller} client={client} /></p>
        <p class="quiet">{a.paused ? t.today.paused : <>{t.today.last} <Time time={a.last} /></>} · {t.calls(a.calls)}{a.failed > 0 && <> · <a href={`/activity?result=failed&caller=${encodeURIComponent(a.caller)}`}>{t.today.failedCalls(a.failed)}</a></>}</p>
      </div>
      <span class="level" title={t.call.level}>{a.level}</span>
      <button type="button" class={a.paused ? "" : "ghost"} onClick={() => void pauseCaller(vault, a.caller, spell(who.name), !a.paused)}>
        <Icon name={a.paused ? "play" : "pause"} size={15} /><span class="wide">{a.paused ? t.today.resume : t.today.pause}</span>
      </button>
    </li>
  );
}

function Agents() {
  const day = today.value!;
  const agents = day.agents.filter((a) => !whoIs(a.caller).you);
  return (
    <section aria-labelledby="agents">
      <header class="section"><h2 id="agents">{t.today.agents}</h2></header>
      {agents.length ? <ul class="card agents">{agents.map((a) => <AgentCard key={`${a.caller} ${a.name}`} a={a} vault={day.vault} />)}</ul> : (
        <div class="card soft"><p>{t.today.noAgents}</p><p class="quiet">{t.today.noAgentsHint}</p><p><a class="button" href="/connect">{t.connect.title}</a></p></div>
      )}
    </section>
  );
}

function Wellness() {
  const { health, alerts } = today.value!;
  const well = health.policy && health.pauses && health.disk.ok;
  return (
    <section aria-labelledby="health">
      <header class="section"><h2 id="health">{t.today.health}</h2><a class="more" href="/health">{t.today.checks}<Icon name="chevron" size={14} /></a></header>
      <div class={`card health-card ${well ? "well" : "ill"}`}>
        <p><Icon name={well ? "shield" : "warn"} size={16} /><strong>{well ? t.today.well : health.why ?? health.disk.why}</strong></p>
        {well && <p class="quiet">{health.readOnly ? t.today.readOnly : t.today.wellHint}</p>}
      </div>
      {alerts.length > 0 && <h3>{t.today.alerts}</h3>}
      {alerts.length > 0 && <ul class="card alerts">{alerts.slice(0, 5).map((r) => (
        <li key={r.mac}><a href={`/activity/${r.mac}`}><Icon name="warn" size={15} /><span><WhoMark caller={r.caller} client={r.client} plain /> <Strange text={subjectOf(r)} /></span><Time time={r.time} /></a></li>
      ))}</ul>}
    </section>
  );
}

export function TodayView() {
  if (!today.value) {
    if (trouble.value) return <div class="view"><Failure text={trouble.value} retry={() => void lookToday()} /></div>;
    return <div class="view"><Skeleton lines={8} /></div>;
  }
  if (!today.value.vaults.length) return <div class="view"><Empty icon="note" title={t.noVault}><pre class="snippet">cloche vault add DIR</pre></Empty></div>;
  return (
    <div class="view today">
      <h1>{t.today.title}</h1>
      <Waiting />
      <div class="columns">
        <Changes />
        <aside><Agents /><Wellness /></aside>
      </div>
    </div>
  );
}
