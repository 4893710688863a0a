// Views that are loaded when they are first shown.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../core/texts";
import { Failure, Skeleton } from "../parts/parts";

export function lazy(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;
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
