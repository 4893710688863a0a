// Views that are loaded when they are first shown.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { partOf } from "../core/part";
import { t } from "../core/texts";
import { Failure, Skeleton } from "../parts/parts";

const waiting: (() => void)[] = [];
/** Loads them one after the other, while nothing else is to be done. */
export function loadAhead(): void {
  const next = waiting.shift();
  if (!next) return;
  const go = () => { next(); loadAhead(); };
  if ("requestIdleCallback" in window) requestIdleCallback(go, { timeout: 4000 });
  else setTimeout(go, 200);
}

/** `pick`: the view, of the module that `get` imports. */
export function lazy<T>(get: () => Promise<T>, pick: (module: T) => ComponentType): ComponentType {
  let loaded: ComponentType | null = null;
  const part = partOf(get);
  const load = async (): Promise<ComponentType> => pick(await part());
  waiting.push(() => void load().then((it) => { loaded = it; }, () => {})); // where that fails it is tried again when it is shown
  return function Lazy() {
    const [View, setView] = useState<{ it: ComponentType } | null>(loaded && { it: loaded });
    const [failed, setFailed] = useState(false);
    const start = () => {
      setFailed(false);
      load().then((it) => { loaded = it; setView({ it }); }, () => setFailed(true));
    };
    useEffect(() => { if (!View) start(); }, []);
    if (failed) return <Failure text={t.unreachable} retry={start} />;
    return View ? <View.it /> : <Skeleton />;
  };
}
