// Times as the person reads them: relative when recent, exact on hover.
import { signal, type Signal } from "@preact/signals";
import { t } from "./texts";

/** Changes every `ms` and when the page is looked at again. Its timer runs only while something that depends on it is shown. */
function every(ms: number): Signal<number> {
  let timer = 0;
  const look = () => { if (!document.hidden) tick.value = Date.now(); };
  const tick: Signal<number> = signal(0, {
    watched: () => { timer = window.setInterval(look, ms); addEventListener("visibilitychange", look); },
    unwatched: () => { clearInterval(timer); removeEventListener("visibilitychange", look); },
  });
  return tick;
}

const fiveSeconds = every(5_000);
const halfMinute = every(30_000);
const quarter = every(900_000);
/** The time. What shows it is shown anew every five seconds. */
export function now(): number {
  void fiveSeconds.value;
  return Date.now();
}
/** The time. What shows it is shown anew as often as words about `ms` change with it: days change at a quarter of an hour. */
function nowFor(ms: number): number {
  const at = Date.now();
  void (at - ms < 60_000 ? fiveSeconds : at - ms < 3_600_000 ? halfMinute : quarter).value;
  return at;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const farDay = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const AHEAD_S = 60; // by which another clock may be before this one's
/** Of a past time how long ago it was, of an older one and of one to come the time or the day. */
export function relative(time: string): string {
  const ms = Date.parse(time);
  const at = nowFor(ms);
  const s = Math.round((at - ms) / 1000);
  const [that, today] = [new Date(ms), new Date(at)];
  if (s < 10 && s > -AHEAD_S) return t.justNow;
  if (s >= 0 && s < 60) return t.secondsAgo(s);
  if (s >= 0 && s < 3600) return t.minutesAgo(Math.floor(s / 60));
  if (that.toDateString() === today.toDateString()) return clock.format(ms);
  return (that.getFullYear() === today.getFullYear() ? day : farDay).format(ms);
}
export const exactly = (time: string): string => exact.format(Date.parse(time));
export function duration(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  return `${Math.floor(s / 60)} min ${s % 60} s`;
}
export const bytes = (n: number): string =>
  n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(0)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`;
