// Recorded runs of a function: how each ended, when, and who ran it.
import type { Run } from "../../core/functions";
import { t } from "../../core/texts";
import { duration } from "../../core/time";
import { spell, Strange, Time } from "../../parts/parts";

export const whenRun = (r: Run): string => String(r.when ?? r.at ?? r.time ?? "");

export function Runs({ of }: { of: Run[] }) {
  return (
    <ul class="plain runs">{of.map((r, i) => {
      const when = whenRun(r);
      return <li key={i}><span class={`tag ${r.outcome === "ok" || r.outcome === "completed" ? "good" : "bad"}`}>{spell(String(r.outcome ?? ""))}</span>{r.trial && <span class="tag">{t.functions.trial}</span>} {r.version !== undefined && <span class="quiet">{t.functions.versionOf(r.version)}</span>} {typeof r.ms === "number" && <span class="quiet">{duration(r.ms)}</span>} {r.caller && <Strange text={r.caller} />}{when && <Time time={when} />}</li>;
    })}</ul>
  );
}
