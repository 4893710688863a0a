// How calls go: how many, how long, which fail, and what is slow and why; from the server's own aggregates.
import { useEffect, useState } from "preact/hooks";
import { getStats } from "../../core/functions";
import { hear } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { getTrends, type Slow, type Trend, type Trends } from "../../core/trends";
import { go, place } from "../../core/router";
import { today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes, duration } from "../../core/time";
import { whoIs } from "../../core/who";
import { Bars, Figure, Lines } from "../../parts/chart";
import { Empty, Failure, Icon, NoVault, Skeleton, spell, Strange, Time, WhoMark } from "../../parts/parts";

const RANGES = ["hour", "day", "week", "month"];
const CALM_MS = 1500; // between looks while calls come in
const percent = (part: number, of: number): string => (of ? `${(Math.round((part / of) * 1000) / 10).toLocaleString()} %` : "–");

/** Why a call took its time, as far as its record tells. */
function why(s: Slow): string {
  if (s.asked) return t.performance.why.asked;
  if (s.cpu_ms > s.ms * 0.6) return t.performance.why.computing;
  if (s.host_calls >= 20) return t.performance.why.calls(s.host_calls);
  if (s.cpu_ms > 0 && s.host_calls > 0) return t.performance.why.waiting(s.host_calls);
  return t.performance.why.unknown;
}

interface TableProps { title: string; rows: Trend[]; kind: string; chosen: string; onPick: (name: string) => void }
function Table({ title, rows, kind, chosen, onPick }: TableProps) {
  const [most, setMost] = useState(12);
  const top = Math.max(...rows.map((r) => r.calls), 1);
  if (!rows.length) return null;
  const nameOf = (r: Trend): string => (kind === "caller" ? `${r.name}\t${r.client ?? ""}` : r.name);
  return (
    <section class="card trend-table"><h2>{title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}><table>
        <thead><tr><th scope="col">{t.performance.name}</th><th scope="col">{t.performance.calls}</th><th scope="col">{t.performance.failed}</th>{kind === "method" ? <th scope="col">{t.performance.denied}</th> : <><th scope="col">p50</th><th scope="col">p95</th></>}</tr></thead>
        <tbody>{rows.slice(0, most).map((r) => (
          <tr key={nameOf(r)} class={nameOf(r) === chosen ? "chosen" : ""}>
            <th scope="row"><button type="button" class="ghost" aria-pressed={nameOf(r) === chosen} onClick={() => onPick(nameOf(r) === chosen ? "" : nameOf(r))}>{kind === "caller" ? <WhoMark caller={r.name} client={r.client ? { name: r.client, claimed: true } : null} plain /> : <Strange text={r.name} />}</button><svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true"><rect width={(100 * r.calls) / top} height="3" /></svg></th>
            <td>{r.calls.toLocaleString()}</td><td class={r.failed ? "bad" : "quiet"}>{r.failed ? percent(r.failed, r.calls) : "–"}</td>
            {kind === "method" ? <td class="quiet">{r.denied ? r.denied.toLocaleString() : "–"}</td> : <><td>{r.p50 === undefined ? "–" : duration(r.p50)}</td><td>{r.p95 === undefined ? "–" : duration(r.p95)}</td></>}
          </tr>
        ))}</tbody></table></div>
      {rows.length > most && <button type="button" class="ghost" onClick={() => setMost(most + 40)}>{t.run.more(rows.length - most)}</button>}
    </section>
  );
}

interface Metric { value: number | null; formula?: string; [more: string]: unknown }
function Metrics({ vault }: { vault: string }) {
  const [all, setAll] = useState<Record<string, Metric> | null>(null);
  const newest = useNewest([vault]);
  useEffect(() => void newest(() => getStats(vault), (s) => setAll((s.metrics ?? {}) as Record<string, Metric>), () => setAll({})), [vault]);
  if (!all || !Object.keys(all).length) return null;
  return (
    <section class="card metrics"><h2>{t.performance.metrics}</h2><dl>{Object.entries(all).map(([name, m]) => (
      <div key={name}><dt><code>{name}</code>{m.formula && <p class="quiet">{spell(String(m.formula))}</p>}</dt><dd>{typeof m.value === "number" ? (Math.round(m.value * 1000) / 1000).toLocaleString() : m.value && typeof m.value === "object" ? <Strange text={JSON.stringify(m.value)} /> : "–"}</dd></div>
    ))}</dl></section>
  );
}

function Slowest({ all }: { all: Slow[] }) {
  const [most, setMost] = useState(8);
  return (
    <section class="card slowest"><h2>{t.performance.slowest}</h2><ul>{all.slice(0, most).map((s) => (
      <li key={s.mac}><a href={`/activity/${s.mac}`}><strong>{duration(s.ms)}</strong><span><Strange text={s.action} /> <span class="quiet">{t.performance.by} <WhoMark caller={s.caller} client={s.client ? { name: s.client } : null} plain /></span><span class="why">{why(s)}</span></span><Time time={s.time} /></a></li>
    ))}</ul>
      {all.length > most && <button type="button" class="ghost" onClick={() => setMost(all.length)}>{t.run.more(all.length - most)}</button>}
    </section>
  );
}

export function PerformanceView() {
  const vault = today.value?.vault ?? "";
  const query = place.value.query;
  const range = RANGES.includes(query.get("range") ?? "") ? query.get("range")! : "day";
  const kind = query.get("kind") ?? "";
  const name = query.get("name") ?? "";
  const [told, setTold] = useState<Trends | null>(null);
  const [failed, setFailed] = useState("");
  const [version, setVersion] = useState(0);
  const pick = (more: Record<string, string>) => {
    const now = new URLSearchParams({ range, ...(kind && { kind, name }), ...more });
    if (!now.get("name")) { now.delete("kind"); now.delete("name"); }
    go(`/performance?${now.toString()}`, "replace");
  };
  const newest = useNewest([vault, range, kind, name]);
  const look = () => {
    if (vault) void newest((signal) => getTrends(vault, range, kind, name, signal), (x) => { setTold(x); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  };
  useEffect(look, [vault, range, kind, name, version]);
  useEffect(() => {
    let timer = 0;
    const stop = hear("record", ({ record }) => { if (record.event === "call" && record.caller !== "page" && !timer) timer = window.setTimeout(() => { timer = 0; setVersion((n) => n + 1); }, CALM_MS); });
    return () => { stop(); clearTimeout(timer); };
  }, []);
  useKeys({ 1: () => pick({ range: "hour" }), 2: () => pick({ range: "day" }), 3: () => pick({ range: "week" }), 4: () => pick({ range: "month" }), ...(name && { Escape: () => pick({ name: "" }) }) });
  const x = told?.trends;
  return (
    <div class="view performance">
      <header class="settings-head"><h1>{t.performance.title}</h1>
        <div class="choices" role="group" aria-label={t.performance.range}>{RANGES.map((r) => <button type="button" key={r} class={r === range ? "chosen" : ""} aria-pressed={r === range} onClick={() => pick({ range: r })}>{t.performance.ranges[r]}</button>)}</div>
        {name && <button type="button" class="only" onClick={() => pick({ name: "" })}>{t.performance.only} <Strange text={kind === "caller" ? whoIs(name.split("\t")[0], name.split("\t")[1] ? { name: name.split("\t")[1] } : null).name : name} /><Icon name="close" size={14} /></button>}
      </header>
      {failed && <Failure text={failed} retry={look} />}
      {!x && !failed && (vault ? <Skeleton lines={8} /> : <NoVault icon="performance" lines={8} />)}
      {x && !x.total.calls && !name && <Empty icon="performance" title={t.performance.none(t.performance.ranges[range])}><p class="quiet">{t.performance.noneHint}</p><a class="button" href="/connect">{t.places.connect}</a></Empty>}
      {x && (x.total.calls > 0 || name) && <>
        <div class="figures">
          <Figure name={t.performance.calls} value={x.total.calls.toLocaleString()} />
          <Figure name={t.performance.failed} value={percent(x.total.failed, x.total.calls)} bad={x.total.failed > x.total.calls / 10} />
          <Figure name="p50" value={x.total.p50 === undefined ? "–" : duration(x.total.p50)} /><Figure name="p95" value={x.total.p95 === undefined ? "–" : duration(x.total.p95)} />
          <Figure name={t.performance.spent} value={duration(x.total.ms)} />{x.total.memory ? <Figure name={t.performance.memory} value={bytes(x.total.memory)} /> : null}
        </div>
        <div class="charts">
          <section class="card"><Bars label={t.performance.callsOver} points={x.points.map((p) => ({ at: p.at, value: p.calls, bad: p.failed }))} from={x.from} to={x.to} step={x.step} unit={t.calls} height={140} /></section>
          <section class="card"><Lines label={t.performance.durations} from={x.from} to={x.to} step={x.step} unit={duration} series={[
            { name: "p50", at: x.points.map((p) => p.at), value: x.points.map((p) => p.p50 ?? null) }, { name: "p95", at: x.points.map((p) => p.at), value: x.points.map((p) => p.p95 ?? null) }]} /></section>
          {x.points.some((p) => p.memory) && <section class="card"><Lines label={t.performance.memory} from={x.from} to={x.to} step={x.step} unit={bytes} series={[{ name: t.performance.peak, at: x.points.map((p) => p.at), value: x.points.map((p) => p.memory || null) }]} /></section>}
        </div>
        {x.slowest.length > 0 && !name && <Slowest all={x.slowest} />}
        <div class="tables">
          <Table title={t.performance.byTool} rows={x.actions} kind="action" chosen={kind === "action" ? name : ""} onPick={(n) => pick({ kind: "action", name: n })} />
          <Table title={t.performance.byAgent} rows={x.callers} kind="caller" chosen={kind === "caller" ? name : ""} onPick={(n) => pick({ kind: "caller", name: n })} />
          <Table title={t.performance.byMethod} rows={x.methods} kind="method" chosen={kind === "method" ? name : ""} onPick={(n) => pick({ kind: "method", name: n })} />
          <Table title={t.performance.byError} rows={x.errors} kind="error" chosen={kind === "error" ? name : ""} onPick={(n) => pick({ kind: "error", name: n })} />
        </div>
        {x.cut && <p class="quiet">{t.performance.cut}</p>}
        <Metrics vault={vault} /></>}
    </div>
  );
}
