// Settings that few persons need: custom functions first, as many as there are.
import { useEffect, useState } from "preact/hooks";
import { hear } from "../../core/events";
import { listFunctions } from "../../core/functions";
import { useNewest } from "../../core/newest";
import { today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Failure, Icon, Skeleton } from "../../parts/parts";

export function AdvancedView() {
  const vault = today.value?.vault ?? "";
  const [count, setCount] = useState<number | null>(null);
  const [failed, setFailed] = useState("");
  const newest = useNewest([vault]);
  const look = () => { if (vault) void newest((signal) => listFunctions(vault, {}, signal), (all) => { setCount(all.length); setFailed(""); }, (e) => setFailed(wordsOf(e))); };
  useEffect(() => { look(); return hear("hello", look); }, [vault]);
  if (failed) return <Failure text={failed} retry={look} />;
  if (vault && count === null) return <Skeleton lines={4} />;
  return (
    <ul class="card advanced">
      <li><Icon name="functions" /><div><h2>{t.functions.title}</h2><p class="quiet">{count ? t.settings.advanced.some(count) : t.settings.advanced.none}</p></div>
        <span class="deeds"><a class="button" href="/functions">{t.settings.advanced.open}</a><a class="button" href="/functions?new">{t.settings.advanced.make}</a></span></li>
      <li><Icon name="performance" /><div><h2>{t.places.performance}</h2><p class="quiet">{t.settings.advanced.performance}</p></div><span class="deeds"><a class="button" href="/performance">{t.settings.advanced.open}</a></span></li>
      <li><Icon name="machine" /><div><h2>{t.places.machine}</h2><p class="quiet">{t.settings.advanced.machine}</p></div><span class="deeds"><a class="button" href="/machine">{t.settings.advanced.open}</a></span></li>
    </ul>
  );
}
