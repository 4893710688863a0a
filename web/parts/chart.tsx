// Small charts of SVG, labelled at the line, in the page's own colours.
import { t } from "../core/texts";

export function Figure({ name, value, bad = false }: { name: string; value: string; bad?: boolean }) {
  return <div class={`figure${bad ? " ill" : ""}`}><span class="quiet">{name}</span><strong>{value}</strong></div>;
}

export interface Point { at: number; value: number; bad?: number }
interface BarsProps { label: string; points: Point[]; from: number; to: number; step: number; unit: (n: number) => string; height?: number }
const WIDTH = 720;

const whenOf = (at: number, step: number): string =>
  new Intl.DateTimeFormat(undefined, step >= 86400000 ? { month: "short", day: "numeric" } : step >= 3600000 ? { weekday: "short", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" }).format(at);

/** A bar for each step of time; what failed is the lower part of it, in the colour of failures. */
export function Bars({ label, points, from, to, step, unit, height = 96 }: BarsProps) {
  const count = Math.max(1, Math.ceil((to - from) / step));
  const bins: { at: number; value: number; bad: number }[] = Array.from({ length: count }, (_, i) => ({ at: from + i * step, value: 0, bad: 0 }));
  for (const p of points) {
    const bin = bins[Math.min(count - 1, Math.floor((p.at - from) / step))];
    if (p.at < from - step || !bin) continue;
    bin.value += p.value;
    bin.bad += p.bad ?? 0;
  }
  const most = Math.max(1, ...bins.map((b) => b.value));
  const wide = WIDTH / count;
  const total = bins.reduce((sum, b) => sum + b.value, 0);
  return (
    <figure class="chart"><figcaption>{label} <span class="quiet">{t.chart.most(unit(most))}</span></figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${unit(total)}`} height={height}>
        {bins.map((b, i) => b.value > 0 && (
          <g key={i}><title>{`${whenOf(b.at, step)}: ${unit(b.value)}${b.bad ? `, ${t.chart.bad(b.bad)}` : ""}`}</title>
            <rect class="bar-all" x={i * wide + wide * 0.1} width={Math.max(wide * 0.8, 1)} y={height - (height * b.value) / most} height={(height * b.value) / most} />
            {b.bad > 0 && <rect class="bar-bad" x={i * wide + wide * 0.1} width={Math.max(wide * 0.8, 1)} y={height - (height * b.bad) / most} height={(height * b.bad) / most} />}
            <rect class="bar-hit" x={i * wide} width={wide} y={0} height={height} /></g>
        ))}
        <line x1={0} x2={WIDTH} y1={height - 0.5} y2={height - 0.5} />
      </svg>
      <p class="chart-axis quiet"><span>{whenOf(from, step)}</span><span>{whenOf(to, step)}</span></p>
    </figure>
  );
}

export interface Series { name: string; at: number[]; value: (number | null)[] }
/** Lines over time on one scale; each is named at its end. */
export function Lines({ label, series, from, to, unit, height = 140, step }: { label: string; series: Series[]; from: number; to: number; unit: (n: number) => string; height?: number; step: number }) {
  const all = series.flatMap((s) => s.value.filter((v): v is number => v !== null));
  const most = Math.max(...all, 0) || 1;
  const x = (at: number) => ((at - from) / Math.max(to - from, 1)) * WIDTH;
  const y = (v: number) => height - 4 - ((height - 12) * v) / most;
  const path = (s: Series): string => {
    let out = "";
    let pen = false;
    s.at.forEach((at, i) => {
      const v = s.value[i];
      if (v === null) { pen = false; return; }
      out += `${pen ? "L" : "M"}${x(at).toFixed(1)} ${y(v).toFixed(1)}`;
      pen = true;
    });
    return out;
  };
  /** Points that no line leads to. */
  const alone = (s: Series): string => s.at.map((at, i) => {
    const v = s.value[i];
    return v === null || (s.value[i - 1] ?? null) !== null || (s.value[i + 1] ?? null) !== null ? "" : `M${x(at).toFixed(1)} ${y(v).toFixed(1)}h0`;
  }).join("");
  const last = (s: Series) => s.value.findLast((v) => v !== null) ?? null;
  return (
    <figure class="chart lines"><figcaption>{label} <span class="quiet">{t.chart.most(unit(most))}</span></figcaption>
      <div class="chart-row"><div><svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${series.map((s) => `${s.name} ${last(s) === null ? "–" : unit(last(s)!)}`).join(", ")}`} height={height}>
        {series.map((s, i) => <g key={s.name}><path class={`line-${i}`} d={path(s)} /><path class={`line-${i} dots`} d={alone(s)} /></g>)}
        <line x1={0} x2={WIDTH} y1={height - 0.5} y2={height - 0.5} />
      </svg><p class="chart-axis quiet"><span>{whenOf(from, step)}</span><span>{whenOf(to, step)}</span></p></div>
        <ul class="chart-names">{series.map((s, i) => <li key={s.name} class={`name-${i}`}>{s.name}{last(s) !== null && <strong>{unit(last(s)!)}</strong>}</li>)}</ul></div>
    </figure>
  );
}
