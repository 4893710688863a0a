// The host calls of one call in time: where its time went, in words and as bars.
import { useState } from "preact/hooks";
import { t } from "../../core/texts";
import { duration } from "../../core/time";
import type { Timeline as Told } from "../../core/types";
import { Strange } from "../../parts/parts";

const FIRST = 24; // rows that are shown at first
const WIDE = 1000;

/** The time in which at least one of them was under way. */
function together(calls: Told["calls"]): number {
  let sum = 0, until = 0;
  for (const { at, ms } of calls) {
    sum += Math.max(0, at + ms - Math.max(at, until));
    until = Math.max(until, at + ms);
  }
  return sum;
}

export function Timeline({ told, total }: { told: Told; total: number }) {
  const [all, setAll] = useState(false);
  const { calls, left = 0, leftMs = 0 } = told;
  const most = Math.max(total, ...calls.map((c) => c.at + c.ms), 0.001);
  const longest = Math.max(...calls.map((c) => c.ms));
  const shown = all ? calls : calls.slice(0, FIRST);
  const place = (ms: number) => (ms / most) * WIDE;
  return (
    <div class="steps">
      <p class="quiet">{t.call.spent(duration(together(calls)), duration(total))}</p>
      <table>
        <thead class="visually-hidden"><tr><th scope="col">{t.call.hostCall}</th><th scope="col">{t.call.begun}</th><th scope="col">{t.call.took}</th></tr></thead>
        <tbody>{shown.map((c, i) => (
          <tr key={i} class={c.outcome ? "bad" : c.ms === longest && calls.length > 1 ? "longest" : ""}>
            <th scope="row"><Strange text={c.call} />{c.outcome && <span class="tag bad"><Strange text={c.outcome} /></span>}</th>
            <td><span class="visually-hidden">{duration(c.at)}</span>
              <svg viewBox={`0 0 ${WIDE} 8`} preserveAspectRatio="none" aria-hidden="true"><title>{`${duration(c.at)} + ${duration(c.ms)}`}</title>
                <rect class="step-line" x={0} y={3.5} width={WIDE} height={1} /><rect class="step-bar" x={Math.min(place(c.at), WIDE - 6)} y={0} width={Math.max(place(c.ms), 6)} height={8} rx={2} /></svg></td>
            <td>{duration(c.ms)}</td>
          </tr>
        ))}</tbody>
      </table>
      {shown.length < calls.length && <button type="button" class="ghost" onClick={() => setAll(true)}>{t.call.showAll(calls.length)}</button>}
      {left > 0 && <p class="quiet">{t.call.leftOut(left, duration(leftMs))}</p>}
    </div>
  );
}
