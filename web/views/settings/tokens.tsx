// Tokens, by which programs come in over HTTP: each is shown once, and revoked at once.
import { useEffect, useRef, useState } from "preact/hooks";
import { hear, hearAgain } from "../../core/events";
import { useNewest } from "../../core/newest";
import { createToken, getTokens, revokeToken, type Token, type TokenWish } from "../../core/rights";
import { toast, today, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { now } from "../../core/time";
import type { Confirmation } from "../../core/types";
import { Confirm, Copy, Empty, Failure, Skeleton, spell, Strange, Time } from "../../parts/parts";

const SCOPES = ["read", "write", "evaluate", "audit"];

function Create({ close, onMade }: { close: () => void; onMade: (name: string, text: string) => void }) {
  const vaults = today.value?.vaults ?? [];
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(["read", "write", "evaluate"]);
  const [level, setLevel] = useState("full");
  const [expires, setExpires] = useState("90d");
  const [chosen, setChosen] = useState<string[]>([]);
  const [asked, setAsked] = useState<(Confirmation & { wish: TokenWish }) | null>(null);
  const [failed, setFailed] = useState("");
  const toggle = (list: string[], one: string) => (list.includes(one) ? list.filter((x) => x !== one) : [...list, one]);
  const busy = useRef(false);
  const make = async (wish: TokenWish, confirm?: string) => {
    if (busy.current) return;
    busy.current = true;
    try {
      const said = await createToken(wish, confirm);
      if (typeof said === "string") onMade(wish.name, said);
      else setAsked({ ...said, wish });
      setFailed("");
    } catch (e) {
      setAsked(null);
      setFailed(wordsOf(e));
    }
    busy.current = false;
  };
  const withdraw = () => setAsked(null); // the question was about what stood there before
  const submit = (event: Event) => {
    event.preventDefault();
    void make({ name, level, scopes: SCOPES.filter((x) => scopes.includes(x)).join(","), expires, ...(chosen.length && { vaults: chosen }) });
  };
  return (
    <form class="card token-form" onSubmit={submit} onInput={withdraw} aria-label={t.settings.newToken}>
      <label>{t.settings.tokenName}<input type="text" required maxLength={40} pattern="[A-Za-z0-9._\-]+" value={name} spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label>{t.settings.tokenLevel}<select value={level} onChange={(e) => setLevel(e.currentTarget.value)}>{["full", "limited", "zero"].map((l) => <option key={l} value={l}>{l}</option>)}</select></label>
      <label>{t.settings.tokenExpires}<select value={expires} onChange={(e) => setExpires(e.currentTarget.value)}>{Object.entries(t.settings.expiries).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select></label>
      <fieldset><legend>{t.settings.tokenScopes}</legend>{SCOPES.map((x) => <label class="inline" key={x}><input type="checkbox" checked={scopes.includes(x)} onChange={() => setScopes(toggle(scopes, x))} />{t.settings.scopeWords[x]}</label>)}</fieldset>
      <fieldset><legend>{t.settings.tokenVaults}</legend><p class="quiet">{chosen.length ? "" : t.settings.allVaults}</p>
        {vaults.map((v) => <label class="inline" key={v.id}><input type="checkbox" checked={chosen.includes(v.id)} onChange={() => setChosen(toggle(chosen, v.id))} />{spell(v.name)}</label>)}</fieldset>
      {failed && <p class="bad" role="alert"><Strange text={failed} /></p>}
      {asked ? <Confirm wider sentence={asked.sentence} yes={t.settings.create} onYes={() => make(asked.wish, asked.confirm)} onNo={() => setAsked(null)} />
        : <div class="deeds"><button type="submit" class="primary" disabled={!scopes.length}>{t.settings.create}</button><button type="button" onClick={close}>{t.cancel}</button></div>}
    </form>
  );
}

function stateOf(x: Token): "revoked" | "expired" | "good" {
  return x.revoked ? "revoked" : x.expires && Date.parse(x.expires) < now() ? "expired" : "good";
}

function Row({ x, revoke }: { x: Token; revoke: () => Promise<unknown> }) {
  const [sure, setSure] = useState(false);
  const state = stateOf(x);
  return (
    <li class={`token ${state}`}>
      <div><strong><Strange text={x.name} /></strong> <span class="level">{x.level}</span>{state !== "good" && <span class="tag bad">{t.settings.tokenStates[state]}</span>}
        <p class="quiet">{x.scopes.map((one) => t.settings.scopeWords[one] ?? one).join(", ")} · {x.vaults ? <Strange text={x.vaults.join(", ")} /> : t.settings.allVaults}</p></div>
      <p class="quiet token-times"><span>{t.settings.lastUsed} {x.last_used ? <Time time={x.last_used} /> : t.settings.never}</span><span>{t.settings.created} <Time time={x.created} /></span><span>{t.settings.expires} {x.expires ? <Time time={x.expires} /> : t.settings.never}</span></p>
      {state === "good" && !sure && <button type="button" onClick={() => setSure(true)}>{t.settings.revoke}<span class="visually-hidden"> {x.name}</span></button>}
      {sure && <Confirm sentence={t.settings.revokeSure(spell(x.name))} yes={t.settings.revoke} onYes={() => revoke().then(() => setSure(false))} onNo={() => setSure(false)} />}
    </li>
  );
}

export function TokensView() {
  const [tokens, setTokens] = useState<Token[] | null>(null);
  const [failed, setFailed] = useState("");
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<{ name: string; text: string } | null>(null);
  const [all, setAll] = useState(false);
  const newest = useNewest([]);
  const look = () => void newest(getTokens, (list) => { setTokens(list); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(look, []);
  useEffect(() => hearAgain(look), []);
  useEffect(() => hear("record", ({ record }) => { if (record.event.startsWith("token")) look(); }), []);
  const revoke = (name: string) => revokeToken(name).then(() => { toast(t.settings.revoked(name)); look(); }, (e) => toast(wordsOf(e), undefined, "bad"));
  if (failed) return <Failure text={failed} retry={look} />;
  if (!tokens) return <Skeleton />;
  const good = tokens.filter((x) => stateOf(x) === "good");
  const shown = all ? tokens : good;
  return (
    <div class="tokens">
      <div class="line-row"><p class="quiet">{t.settings.tokensLead}</p>{!making && <button type="button" class="primary" onClick={() => { setMaking(true); setMade(null); }}>{t.settings.newToken}</button>}</div>
      {made && <section class="card made" role="status"><h2>{t.settings.madeTitle(spell(made.name))}</h2><div class="command"><code>{made.text}</code><Copy text={made.text} /></div><p class="quiet">{t.settings.madeHint}</p></section>}
      {making && <Create close={() => setMaking(false)} onMade={(name, text) => { setMaking(false); setMade({ name, text }); look(); }} />}
      {!shown.length && !making && <Empty icon="key" title={t.settings.noTokens}><p class="quiet">{t.settings.noTokensHint}</p></Empty>}
      {shown.length > 0 && <ul class="card tokens-list">{shown.map((x) => <Row key={x.id} x={x} revoke={() => revoke(x.name)} />)}</ul>}
      {tokens.length > good.length && <button type="button" class="ghost" onClick={() => setAll(!all)}>{all ? t.settings.hideOld : t.settings.showOld(tokens.length - good.length)}</button>}
    </div>
  );
}
