// One function: what it takes and does, trying it, how it is used, and what it was before.
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "../../core/api";
import { duplicate, forgetAll, exportFunctions, getFunction, getStats, getVersions, rollback, type Stats, type Told, type Version } from "../../core/functions";
import { useNewest } from "../../core/newest";
import { go, place } from "../../core/router";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { duration } from "../../core/time";
import { Diff } from "../../parts/diff";
import { Empty, Failure, Skeleton, spell, Strange, Time } from "../../parts/parts";
import { Bars, Figure } from "../../parts/chart";
import { Runs } from "./runs";
import { removeWithUndo, saveFile } from "./deeds";
import { Share } from "./share";
import { Tester } from "./tester";

const PARTS = ["try", "use", "versions", "code"] as const;

function Use({ vault, name, version }: { vault: string; name: string; version: number }) {
  const [stats, setStats] = useState<Stats | null>(null);
  const [failed, setFailed] = useState("");
  const newest = useNewest([vault, name]);
  const look = () => void newest(() => getStats(vault, name), (s) => { setStats(s); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(look, [vault, name, version]);
  if (failed) return <Failure text={failed} retry={look} />;
  if (!stats) return <Skeleton lines={5} />;
  const d = stats.durations ?? {};
  const rate = stats.successRate;
  return (
    <div class="fn-use">
      <div class="figures">
        <Figure name={t.functions.figures.calls} value={(stats.calls ?? 0).toLocaleString()} />
        <Figure name={t.functions.figures.month} value={(stats.callsThisMonth ?? 0).toLocaleString()} />
        <Figure name={t.functions.figures.success} value={typeof rate === "number" ? `${Math.round(rate * 1000) / 10} %` : "–"} bad={typeof rate === "number" && rate < 0.9} />
        <Figure name="p50" value={d.p50 === undefined || d.p50 === null ? "–" : duration(d.p50)} />
        <Figure name="p95" value={d.p95 === undefined || d.p95 === null ? "–" : duration(d.p95)} />
      </div>
      {(stats.days?.length ?? 0) > 0 ? <Bars label={t.functions.days} points={(stats.days ?? []).map((x) => ({ at: Date.parse(x.day), value: x.calls, bad: x.failed }))} step={86400000} from={Date.now() - 30 * 86400000} to={Date.now()} unit={t.functions.callsUnit} />
        : <p class="quiet">{t.functions.noCalls}</p>}
      {(stats.errors?.length ?? 0) > 0 && <section><h3>{t.functions.errors}</h3><ul class="plain">{stats.errors!.map((x) => <li key={x.kind}><Strange text={x.kind} /> <span class="quiet">{x.count} ×{x.last && <>, <Time time={x.last} /></>}</span></li>)}</ul></section>}
      {(stats.runs?.length ?? 0) > 0 && <section><h3>{t.functions.runs}</h3><Runs of={stats.runs!} /></section>}
    </div>
  );
}

const timeOf = (v: Version): string => String(v.at ?? v.time ?? v.createdAt ?? v.updatedAt ?? "");

function Past({ vault, name, now, version, done }: { vault: string; name: string; now: number; version: number; done: () => void }) {
  const [list, setList] = useState<Version[] | null>(null);
  const [failed, setFailed] = useState("");
  const [from, setFrom] = useState(0);
  const [both, setBoth] = useState<{ before: Told; after: Told } | null>(null);
  const [refused, setRefused] = useState("");
  const newest = useNewest([vault, name]);
  const look = () => void newest(() => getVersions(vault, name), (v) => { setList(v.versions); setFrom((was) => was || (v.versions.find((x) => x.version < now)?.version ?? 0)); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(look, [vault, name, version]);
  const newestPair = useNewest([from, vault, name]);
  useEffect(() => {
    setRefused("");
    if (!from) { setBoth(null); return; }
    void newestPair(() => Promise.all([getFunction(vault, name, from), getFunction(vault, name)]), ([before, after]) => setBoth({ before, after }), (e) => setFailed(wordsOf(e)));
  }, [from, vault, name, version]);
  const back = async (to: number, force: boolean, undo = true): Promise<void> => {
    try {
      await rollback(vault, name, to, force);
      setRefused("");
      toast(t.functions.rolledBack(spell(name), to), undo ? { text: t.undo, run: () => void back(now, true, false) } : undefined);
      done();
      look();
    } catch (e) {
      setRefused(wordsOf(e));
    }
  };
  if (failed) return <Failure text={failed} retry={look} />;
  if (!list) return <Skeleton lines={4} />;
  const shape = (x: Told): string => `${x.signature}\n${x.function.description}\n\n${x.function.code}\n`;
  return (
    <div class="fn-past">
      <ol class="versions">{list.map((v) => (
        <li key={v.version}><button type="button" class={v.version === from ? "chosen" : "ghost"} disabled={v.version === now} aria-pressed={v.version === from} onClick={() => setFrom(v.version)}>
          <strong>{t.functions.versionOf(v.version)}</strong>{v.version === now && <span class="tag good">{t.functions.current}</span>}{timeOf(v) && <Time time={timeOf(v)} />}<span class="quiet"><Strange text={String(v.author ?? v.by ?? v.createdBy ?? "")} />{v.note && <> · <Strange text={v.note} /></>}</span></button></li>
      ))}</ol>
      {list.length < 2 && <p class="quiet">{t.functions.oneVersion}</p>}
      {both && from > 0 && <section>
        <header class="line-row"><h3>{t.functions.between(from, now)}</h3><button type="button" onClick={() => void back(from, false)}>{t.functions.rollback(from)}</button></header>
        {refused && <div class="failure" role="alert"><p><Strange text={refused} /></p><button type="button" onClick={() => void back(from, true)}>{t.functions.anyway}</button></div>}
        <Diff before={shape(both.before)} after={shape(both.after)} /></section>}
    </div>
  );
}

export function Detail({ vault, name, version, done }: { vault: string; name: string; version: number; done: () => void }) {
  const [told, setTold] = useState<Told | null>(null);
  const [failed, setFailed] = useState("");
  const [gone, setGone] = useState(false);
  const [part, setPart] = useState<(typeof PARTS)[number]>("try");
  const [sharing, setSharing] = useState(false);
  const newest = useNewest([vault, name]);
  const look = () => void newest(() => getFunction(vault, name), (x) => { setTold(x); setFailed(""); setGone(false); }, (e) => { if (e instanceof Refusal && e.status === 404) setGone(true); else setFailed(wordsOf(e)); });
  useEffect(look, [vault, name, version]);
  if (gone) return <Empty icon="functions" title={t.functions.gone} />;
  if (failed) return <Failure text={failed} retry={look} />;
  if (!told) return <Skeleton />;
  const f = told.function;
  const bad = (e: unknown) => toast(wordsOf(e), undefined, "bad");
  const copy = async () => {
    for (let n = 2; ; n++) {
      const made = `${name}${n}`;
      try {
        await duplicate(vault, name, made);
        toast(t.functions.copied(spell(made)), { text: t.undo, run: () => void forgetAll(vault, [made]).then(done, bad) });
        done();
        go(`/functions/${encodeURIComponent(made)}`);
        return;
      } catch (e) {
        if (n >= 9 || !/taken|exists|already/i.test(wordsOf(e))) { bad(e); return; }
      }
    }
  };
  const remove = () => void removeWithUndo(vault, [name], () => { if (place.value.parts[1] === name) go("/functions"); done(); });
  const others = (today.value?.vaults ?? []).filter((v) => v.id !== vault);
  return (
    <article class="fn">
      <header><h2><Strange text={f.name} /></h2>
        <p><Strange text={f.description} /></p>
        <p class="quiet">{t.functions.versionOf(f.metadata.version ?? 1)} · {t.functions.madeBy[f.metadata.createdBy] ?? ""}{f.metadata.createdAt && <>, <Time time={f.metadata.createdAt} /></>}{(f.tags ?? []).map((tag) => <span class="tag" key={tag}>{spell(tag)}</span>)}{told.origin && <span class="tag">{t.functions.library} <Strange text={told.origin} /></span>}</p></header>
      {told.function.language === "python" && <p class="quiet">Python</p>}
      <pre class="strange signature">{spell(told.signature)}</pre>
      {!told.origin && <div class="deeds">
        <a class="button primary" href={`/functions/${encodeURIComponent(name)}/edit`}>{t.functions.edit}<kbd>E</kbd></a>
        <button type="button" onClick={() => void copy()}>{t.functions.duplicate}</button>
        <button type="button" onClick={() => void exportFunctions(vault, [name]).then((file) => saveFile(`${name}.json`, file), bad)}>{t.functions.export}</button>
        {others.length > 0 && <button type="button" aria-expanded={sharing} onClick={() => setSharing(!sharing)}>{t.functions.share}</button>}
        <button type="button" onClick={remove}>{t.functions.remove}</button></div>}
      {sharing && <Share vault={vault} name={name} others={others} close={() => setSharing(false)} />}
      <div class="tabs" role="tablist" aria-label={t.functions.title}>{PARTS.map((p) => <button type="button" role="tab" key={p} class="tab" aria-selected={p === part} onClick={() => setPart(p)}>{t.functions.parts[p]}</button>)}</div>
      {part === "try" && <Tester vault={vault} name={name} definition={f} stored onSaved={() => { look(); done(); }} />}
      {part === "use" && <Use vault={vault} name={name} version={version} />}
      {part === "versions" && <Past vault={vault} name={name} now={f.metadata.version ?? 1} version={version} done={() => { look(); done(); }} />}
      {part === "code" && <Strange text={f.code} block />}
    </article>
  );
}
