// Small parts that all views are made of.
import type { ComponentChildren } from "preact";
import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Check } from "../core/check";
import { useInPlace } from "../core/focus";
import { useKeys } from "../core/keys";
import { spell } from "../core/spell";
import { lookToday, today, trouble } from "../core/store";
import { t } from "../core/texts";
import { exactly, relative } from "../core/time";
import type { Claim } from "../core/types";
import { whoIs } from "../core/who";

const PATHS: Record<string, string> = {
  today: "M3 11.5 12 4l9 7.5M5.5 10v9.5h13V10M10 19.5v-5h4v5",
  review: "M4 5.5h16v10H9l-4 4v-4H4zM9 10.5l2 2 4-4",
  activity: "M3 12h4l2.5-7 5 14 2.5-7h4",
  tools: "M14.5 6.5a4 4 0 0 0-5.2 5.2L4 17v3h3l5.3-5.3a4 4 0 0 0 5.2-5.2l-2.4 2.4-2.6-.4-.4-2.6z",
  notes: "M5 4h11l3 3v13H5zM8.5 9h7M8.5 12.5h7M8.5 16h4",
  run: "M4 5.5h16v13H4zM7.5 9.5l2.5 2.5-2.5 2.5M12.5 15h4", connect: "M9 3v5M15 3v5M6.5 8h11v3.5a5.5 5.5 0 0 1-11 0zM12 17v4", health: "M3 12h4l2-5 4 10 2.5-5H21",
  machine: "M4 5h16v10H4zM9 19.5h6M12 15v4.5",
  functions: "M9 20c-2 0-2.5-1-2.5-3v-3L4.5 12l2-2V7c0-2 .5-3 2.5-3M15 20c2 0 2.5-1 2.5-3v-3l2-2-2-2V7c0-2-.5-3-2.5-3",
  performance: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  settings: "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4M4 12h13M20 12h0", key: "M14.5 9.5a4 4 0 1 0-3.6 4L13 15.5v2h2v2h4v-3l-5-5z", more: "M5 12h.1M12 12h.1M19 12h.1",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
  undo: "M4 9h10a5.5 5.5 0 0 1 0 11H9M4 9l4-4M4 9l4 4",
  pause: "M9 6v12M15 6v12", play: "M8 5.5v13l10-6.5z", close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.5l4.5 4.5L19 7.5", warn: "M12 4 2.5 20h19zM12 10v4.5M12 17.2v.3", shield: "M12 3.5 5 6v6c0 4 3 7 7 8.5 4-1.5 7-4.5 7-8.5V6z",
  chevron: "M9 6l6 6-6 6", down: "M6 9l6 6 6-6", bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4", leave: "M10 4H5v16h5M14 8l4 4-4 4M9 12h9",
  note: "M6 3.5h8l4 4v13H6zM14 3.5v4h4",
};
export function Icon({ name, size = 18 }: { name: string; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

/** Its text changes by itself when the words do, which is seldom: nothing is rendered meanwhile. */
export function Time({ time }: { time: string }) {
  const words = useMemo(() => computed(() => relative(time)), [time]);
  const title = useMemo(() => exactly(time), [time]);
  return <time dateTime={time} title={title}>{words}</time>;
}

export { spell };

/** A stranger's words: in a type of their own, never turned or hidden, never in the page's voice. */
export function Strange({ text, block = false }: { text: string; block?: boolean }) {
  return block ? <pre class="strange">{spell(text)}</pre> : <bdi class="strange">{spell(text.replaceAll("\n", " ⏎ "))}</bdi>;
}

export function WhoMark({ caller, client, plain = false }: { caller?: string; client?: Claim | null; plain?: boolean }) {
  const who = whoIs(caller, client);
  if (who.you) return <span class="who you">{who.name}</span>;
  return (
    <span class="who" title={who.claimed ? `${who.detail}. ${t.claimedHint}` : who.detail}>
      <Strange text={who.name} />
      {who.claimed && !plain && <span class="claimed">{t.claimed}</span>}
    </span>
  );
}

export function Avatar({ name, you = false }: { name: string; you?: boolean }) {
  let sum = 0;
  for (const c of name) sum = (sum * 33 + c.codePointAt(0)!) % 9973;
  return <span class={`avatar hue-${you ? "you" : sum % 6}`} aria-hidden="true">{spell(name).slice(0, 1).toUpperCase()}</span>;
}

export function Empty({ icon, title, children }: { icon: string; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <span class="empty-icon"><Icon name={icon} size={26} /></span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const RETRY_MS = 5_000;
/** What failed is tried again while it is shown: its cause may be gone. */
export function Failure({ text, retry }: { text: string; retry?: () => void }) {
  const again = useRef(retry);
  again.current = retry;
  useEffect(() => {
    if (!retry) return;
    const timer = setInterval(() => { if (!document.hidden) again.current?.(); }, RETRY_MS);
    return () => clearInterval(timer);
  }, [!retry]);
  return (
    <div class="failure" role="alert">
      <Icon name="warn" /><p><strong>{t.failed}.</strong> {text}</p>
      {retry && <button type="button" onClick={retry}>{t.retry}</button>}
    </div>
  );
}

/** A check that has no answer to show. */
export function Checked({ check }: { check: Check<unknown> }) {
  if (check.state === "checking") return <span class="quiet" role="status">{t.checking}</span>;
  if (check.state === "failed") return <span class="bad" role="alert">{t.notChecked}: <Strange text={check.failed} /> <button type="button" onClick={check.again}>{t.retry}</button></span>;
  return null;
}

/** Grey lines in the place of what is not there yet; only where that takes a while. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return <div class="skeleton" aria-busy="true">{late && Array.from({ length: lines }, (_, i) => <span key={i} />)}</div>;
}

/** In the place of what belongs to a vault, while none is known: which one it is was not told yet, or there is none. */
export function NoVault({ icon, lines }: { icon: string; lines?: number }) {
  if (today.value) return <Empty icon={icon} title={t.noVault}><p class="quiet"><code>cloche vault add DIR</code></p></Empty>;
  return trouble.value ? <Failure text={trouble.value} retry={() => void lookToday()} /> : <Skeleton lines={lines} />;
}

export const Key = ({ of }: { of: string }) => <kbd>{of}</kbd>;

/** Says what will happen, and asks once more; `wider`: that it gives agents more rights. It is answered once: what
 * `onYes` promises is waited for. Escape cancels it. */
export function Confirm({ sentence, wider = false, yes, off = false, onYes, onNo }: { sentence: string; wider?: boolean; yes: string; off?: boolean; onYes: () => void | Promise<unknown>; onNo: () => void }) {
  const box = useInPlace<HTMLDivElement>();
  const [busy, setBusy] = useState(false);
  const answered = useRef(false); // a double click is quicker than the next rendering
  const say = () => {
    if (answered.current) return;
    answered.current = true;
    setBusy(true);
    void Promise.resolve(onYes()).finally(() => { answered.current = false; setBusy(false); });
  };
  useKeys({ Escape: onNo });
  return (
    <div class="answer confirm" ref={box} role="alertdialog" aria-label={wider ? t.wider : yes}>
      <p><Icon name="warn" size={16} /><span>{wider && <strong>{t.wider}. </strong>}{sentence}</span></p>
      <span class="gap" />
      <button type="button" onClick={onNo}>{t.cancel}</button>
      <button type="button" class="danger" disabled={off || busy} onClick={say}>{yes}</button>
    </div>
  );
}

export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [text]);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => {});
  return <button type="button" onClick={() => void copy()}>{copied ? t.copied : t.copy}</button>;
}
