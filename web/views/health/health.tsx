// Whether all is in order: what `cloche doctor` checks, for this server.
import { useEffect, useState } from "preact/hooks";
import { getReport } from "../../core/api";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import type { Report } from "../../core/types";
import { Failure, Icon, Skeleton, Strange } from "../../parts/parts";

export function HealthView() {
  const [report, setReport] = useState<Report | null>(null);
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const look = () => {
    setBusy(true);
    getReport().then((it) => { setReport(it); setFailed(""); }, (e) => setFailed(wordsOf(e))).finally(() => setBusy(false));
  };
  useEffect(look, []);
  const bad = report?.checks.filter((c) => !c.ok).length ?? 0;
  return (
    <div class="view checks">
      <header><h1>{t.health.title}</h1>
        {report && <span class={`tag ${bad ? "bad" : "good"}`} role="status">{bad ? t.health.ill(bad) : t.health.well}</span>}
        <button type="button" disabled={busy} onClick={look}>{busy ? t.health.checking : t.health.again}</button></header>
      <p class="quiet">{report && `${t.health.version(report.version)} · `}{t.health.hint}</p>
      {failed && <Failure text={failed} retry={look} />}
      {!report && !failed && <Skeleton lines={8} />}
      {report && <ul class="card">{report.checks.map((c) => (
        <li key={c.name} class={c.ok ? "" : "ill"}><Icon name={c.ok ? "check" : "warn"} size={16} /><strong>{c.name}</strong><Strange text={c.detail} /></li>
      ))}</ul>}
    </div>
  );
}
