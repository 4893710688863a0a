// "May this caller do that?", as the guard answers it for every call, machine and tool.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hear, hearAgain } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { getMay, getTokens, type Answered, type May, type Token } from "../../core/rights";
import { today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Empty, Failure, Icon, NoVault, Skeleton, spell, Strange } from "../../parts/parts";
import { Rows } from "../../parts/rows";

const HEIGHT = 52;
const BORDERS = 2; // of the card around them
const MARK = { yes: "check", asks: "review", no: "close" };

function Line({ a }: { a: Answered }) {
  return (
    <div class={`may ${a.may}`}>
      <Icon name={MARK[a.may]} size={16} />
      <code>{spell(a.call)}</code>
      <span class="may-what"><Strange text={a.why ?? a.what} /></span>
      <span class={`tag${a.may === "yes" ? " good" : a.may === "no" ? " bad" : ""}`}>{t.settings.may[a.may]}</span>
    </div>
  );
}

export function AccessView() {
  const vault = today.value?.vault ?? "";
  const [caller, setCaller] = useState("stdio");
  const [level, setLevel] = useState("");
  const [words, setWords] = useState("");
  const [only, setOnly] = useState("");
  const [may, setMay] = useState<May | null>(null);
  const [tokens, setTokens] = useState<Token[]>([]);
  const [failed, setFailed] = useState("");
  const search = useRef<HTMLInputElement>(null);
  const newest = useNewest([vault, caller, level]);
  const look = () => {
    if (!vault) return;
    const token = caller.startsWith("token ") ? caller.slice(6) : "";
    void newest((signal) => getMay({ vault, way: caller === "stdio" ? "stdio" : "http", level, token }, signal), (m) => { setMay(m); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  };
  useEffect(() => { getTokens().then((all) => setTokens(all.filter((x) => !x.revoked)), () => {}); }, []);
  useEffect(look, [vault, caller, level]);
  useEffect(() => hear("settings", look), [vault, caller, level]);
  useEffect(() => hearAgain(look), [vault, caller, level]);
  useKeys({ "/": () => search.current?.focus() });
  const found = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return (may?.answers ?? []).filter((a) => (!only || a.may === only) && wanted.every((w) => `${a.call} ${a.what}`.toLowerCase().includes(w)));
  }, [may, words, only]);
  const count = (which: string) => (may?.answers ?? []).filter((a) => a.may === which).length;
  if (failed) return <Failure text={failed} retry={look} />;
  if (!vault) return <NoVault icon="shield" lines={10} />;
  return (
    <div class="access">
      <div class="line-row question">
        <span>{t.settings.mayQuestion}</span>
        <label class="inline"><span class="visually-hidden">{t.settings.caller}</span><select value={caller} onChange={(e) => setCaller(e.currentTarget.value)}>
          <option value="stdio">{t.settings.callers.stdio}</option><option value="http">{t.settings.callers.http}</option>
          {tokens.map((x) => <option key={x.id} value={`token ${x.name}`}>{t.settings.callers.token(spell(x.name))}</option>)}</select></label>
        <label class="inline">{t.settings.atLevel}<select value={level} onChange={(e) => setLevel(e.currentTarget.value)}><option value="">{t.settings.anyLevel}</option>{["full", "limited", "zero"].map((l) => <option key={l} value={l}>{l}</option>)}</select></label>
        <input ref={search} type="search" value={words} placeholder={t.settings.doWhat} aria-label={t.settings.doWhat} spellcheck={false} onInput={(e) => setWords(e.currentTarget.value)} />
      </div>
      {!may && <Skeleton lines={10} />}
      {may?.refused && <p class="failure" role="alert"><Icon name="warn" /><span>{t.settings.refusedAll} <Strange text={may.refused} /></span></p>}
      {may?.answers && <>
        <div class="choices" role="group" aria-label={t.settings.answers}>
          {["", "yes", "asks", "no"].map((which) => <button key={which} type="button" class={only === which ? "chosen" : ""} aria-pressed={only === which} onClick={() => setOnly(which)}>{which ? t.settings.may[which] : t.settings.every} <span class="quiet">{which ? count(which) : may.answers!.length}</span></button>)}
          <span class="quiet effective">{t.settings.effective(may.level ?? "")}{may.readOnly && ` · ${t.settings.readOnly}`}</span>
        </div>
        {found.length ? <div class="card may-list" style={{ height: `${found.length * HEIGHT + BORDERS}px` }}><Rows plain items={found} height={HEIGHT} id={(a) => a.call} row={(a) => <Line a={a} />} label={t.settings.answers} version={found} /></div>
          : <Empty icon="search" title={t.settings.noMatch}><button type="button" onClick={() => { setWords(""); setOnly(""); }}>{t.settings.showAll}</button></Empty>}
      </>}
    </div>
  );
}
