// What waits for a person's word: what is asked for, what would be after, and the answer.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { decide } from "../../core/api";
import { useFirstFocus } from "../../core/focus";
import { useKeys } from "../../core/keys";
import { askToNotify, notifying } from "../../core/notify";
import { go, place } from "../../core/router";
import { approvals, lookApprovals, toast, trouble, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { duration, now } from "../../core/time";
import type { Approval, Confirmation } from "../../core/types";
import { Unified } from "../../parts/diff";
import { Avatar, Confirm, Empty, Failure, Icon, Key, Skeleton, spell, Strange, Time, WhoMark } from "../../parts/parts";
import { whoIs } from "../../core/who";
import { EditArguments } from "./edit";
import { callOf, noteOf, vaultOf, wishOf } from "./wish";

const REASON_MAX = 300; // bytes, as the server counts
const CALM_MS = 600; // after something moved: a click is meant for what was there before

// ---- what is asked for ---------------------------------------------------------------

/** "title: Asked" is a name and its value; the server tells arguments in lines. */
function Argument({ line }: { line: string }) {
  const named = /^([\w.$-]{1,60}): ?([\s\S]*)$/.exec(line);
  const [name, value] = named ? [named[1], named[2]] : ["", line];
  const long = value.includes("\n") || value.length > 100;
  return <div class={long ? "pair long" : "pair"}><dt>{name && <Strange text={name} />}</dt><dd><Strange text={value} block={long} /></dd></div>;
}

/** A program's arguments come as JSON: one a line reads better. */
function readArgs(text: string): string[] | null {
  try {
    const args: unknown = JSON.parse(text);
    return Array.isArray(args) && args.every((one) => typeof one === "string") ? args : null;
  } catch {
    return null;
  }
}

function Shown({ label, value }: { label: string; value: string | string[] }) {
  const lines = Array.isArray(value) ? value : [value];
  const args = label === "args" ? readArgs(lines.join("")) : null;
  if (args) return <section><h3>{t.review.labels.args}</h3><ol class="args">{args.map((one, i) => <li key={i}><Strange text={one} /></li>)}</ol></section>;
  if (label === "would change") return <section><h3>{t.review.change}</h3><Unified lines={lines} /></section>;
  if (label === "arguments") return lines.length ? <section><h3>{t.review.arguments}</h3><dl class="pairs">{lines.map((line, i) => <Argument key={i} line={line} />)}</dl></section> : null;
  return (
    <section><h3>{t.review.labels[label] ?? spell(label)}</h3>
      {lines.length > 1 || lines[0]?.includes("\n") || (lines[0]?.length ?? 0) > 100 ? <Strange text={lines.join("\n")} block /> : <p><Strange text={lines[0] ?? ""} /></p>}
    </section>
  );
}

// ---- the answer ----------------------------------------------------------------------

function useCalm(of: string): boolean {
  const [calm, setCalm] = useState(false);
  useEffect(() => {
    setCalm(false);
    const timer = setTimeout(() => setCalm(true), CALM_MS);
    return () => clearTimeout(timer);
  }, [of]);
  return calm;
}

function Reason({ off, text, onText, onDeny, onNo }: { off: boolean; text: string; onText: (text: string) => void; onDeny: (why: string) => void; onNo: () => void }) {
  const field = useFirstFocus<HTMLInputElement>();
  const why = text.trim();
  const size = new TextEncoder().encode(why).length;
  const long = size > REASON_MAX;
  return (
    <form class="answer reason" onSubmit={(e) => { e.preventDefault(); if (!long) onDeny(why); }}>
      <label class="wide"><span class="visually-hidden">{t.review.reason}</span><input type="text" ref={field} value={text} aria-invalid={long} placeholder={t.review.reasonHint} onInput={(e) => onText(e.currentTarget.value)} />
        {long && <span class="bad" role="alert">{t.review.reasonLong(size, REASON_MAX)}</span>}</label>
      <button type="button" onClick={onNo}>{t.cancel}</button>
      <button type="submit" class="primary" disabled={off || long || !why}>{t.review.denyWith}</button>
    </form>
  );
}

function Answer({ a }: { a: Approval }) {
  const calm = useCalm(a.id);
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState<Confirmation | null>(null);
  const [reason, setReason] = useState<string | null>(null);
  const [editing, setEditing] = useState(false);
  const has = (memory: string) => a.choices.includes(memory);
  const say = async (allow: boolean, memory: string, confirm?: string, why = "") => {
    if (!calm || busy) return;
    setBusy(true);
    try {
      const more = await decide(a.id, allow, memory, confirm, why);
      setAsked(more);
      if (!more) toast(allow ? t.review.allowed[memory] : t.review.denied);
    } catch (e) {
      toast(wordsOf(e), undefined, "bad");
    }
    setBusy(false);
    void lookApprovals();
  };
  // Each key is one of a button that is shown: what is being edited is not allowed by them.
  useKeys(editing ? {} : asked ? { Escape: () => setAsked(null) } : reason !== null ? { Escape: () => setReason(null) } : {
    a: () => void say(true, "call"), d: () => void say(false, "call"),
    s: () => { if (has("session")) void say(true, "session"); },
    r: () => setReason(""),
    e: () => { if (a.arguments) setEditing(true); },
  });
  const off = !calm || busy;
  if (editing) return <EditArguments a={a} close={() => setEditing(false)} />;
  if (asked) return <Confirm wider sentence={asked.sentence} yes={t.review.confirm} off={off} onYes={() => say(true, "always", asked.confirm)} onNo={() => setAsked(null)} />;
  if (reason !== null) return <Reason off={off} text={reason} onText={setReason} onDeny={(why) => void say(false, "call", undefined, why)} onNo={() => setReason(null)} />;
  return (
    <footer class="answer">
      <button type="button" disabled={off} onClick={() => void say(false, "call")}>{t.review.deny}<Key of="D" /></button>
      <button type="button" disabled={off} onClick={() => setReason("")}>{t.review.reason}…<Key of="R" /></button>
      {a.arguments && <button type="button" disabled={off} onClick={() => setEditing(true)}>{t.review.edit}…<Key of="E" /></button>}
      <span class="answer-yes">
      {has("always") && <button type="button" disabled={off} onClick={() => void say(true, "always")}>{t.review.always}…</button>}
      {has("session") && <button type="button" disabled={off} onClick={() => void say(true, "session")}>{t.review.session}<Key of="S" /></button>}
      <button type="button" class="primary" disabled={off} onClick={() => void say(true, "call")}>{t.review.once}<Key of="A" /></button>
      </span>
    </footer>
  );
}

/** Those that were on this page: what takes the place of one that is decided here needs no word. */
const shown = new Set<string>();

function Request({ a, before }: { a: Approval; before: ComponentChildren }) {
  useEffect(() => { shown.add(a.id); }, [a.id]);
  const left = a.until - now();
  const who = whoIs(a.caller, a.client);
  const order = ["call", "arguments", "would change"];
  const labels = Object.keys(a.shown).filter((l) => l !== "call" && l !== "vault")
    .sort((x, y) => (order.indexOf(x) + 1 || 9) - (order.indexOf(y) + 1 || 9));
  return (
    <article class="request" aria-labelledby="request">
      <header>
        <Avatar name={who.name} you={who.you} />
        <div>
          {before}
          <h1 id="request"><WhoMark caller={a.caller} client={a.client} /> {wishOf(a)}{noteOf(a) && <span class="about"><Strange text={noteOf(a)} /></span>}</h1>
          <p class="quiet">{t.review.asked} <Time time={a.asked} />{left > 0 && <> · {t.review.left(duration(left))}</>}{a.shown.vault && <span title={spell(String(a.shown.vault))}> · {t.review.vaultOf} <Strange text={vaultOf(a)} /></span>}{callOf(a) && <> · <Strange text={callOf(a)} /></>}</p>
          {a.question && !/^May .+ be (run|called)\?$/.test(a.question) && <p class="question"><Strange text={a.question} /></p>}
          {!a.waiting && <p class="note-line">{t.review.gone}</p>}
        </div>
      </header>
      <div class="request-body">{labels.map((label) => <Shown key={label} label={label} value={a.shown[label]} />)}</div>
      <Answer a={a} />
    </article>
  );
}

// ---- notifications -------------------------------------------------------------------

function Notify() {
  const state = notifying.value;
  if (state === "granted") return <span class="quiet notify"><Icon name="bell" size={15} />{t.review.notifyOn}</span>;
  if (state === "denied") return null;
  return <button type="button" class="ghost" onClick={askToNotify}><Icon name="bell" size={15} />{t.review.notify}</button>;
}

// ---- the view ------------------------------------------------------------------------

export function ReviewView() {
  const list = approvals.value;
  const wanted = place.value.parts[1];
  const at = Math.max(0, list?.findIndex((a) => a.id === wanted) ?? 0);
  const move = (by: number) => {
    const next = list?.[Math.min(Math.max(at + by, 0), list.length - 1)];
    if (next) go(`/review/${next.id}`, "replace");
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  if (!list) return <div class="view">{trouble.value ? <Failure text={trouble.value} retry={() => void lookApprovals()} /> : <Skeleton />}</div>;
  const one = list[at];
  const other = wanted && one?.id !== wanted && !shown.has(wanted) && <p class="note-line" role="status">{one ? t.review.other : t.review.over}</p>;
  if (!one) return (
    <div class="view review"><h1 class="visually-hidden">{t.review.title}</h1>{other}
      <Empty icon="review" title={t.review.none}><p class="quiet">{t.review.noneHint}</p><Notify /></Empty>
    </div>
  );
  return (
    <div class={`view review ${list.length > 1 ? "split" : "single"}`}>
      {list.length > 1 && (
        <nav class="requests" aria-label={t.review.list}>
          <header><h2>{t.review.title}</h2><Notify /></header>
          <ul>{list.map((a, i) => (
            <li key={a.id}><a href={`/review/${a.id}`} aria-current={i === at ? "true" : undefined}>
              <span><WhoMark caller={a.caller} client={a.client} plain /></span><span>{wishOf(a)}</span>{noteOf(a) && <Strange text={noteOf(a)} />}<Time time={a.asked} />
            </a></li>
          ))}</ul>
        </nav>
      )}
      <Request key={one.id} a={one} before={other} />
    </div>
  );
}
