// The audit as a timeline: filters, live rows, one call opened beside it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getActivity, getVerified, type Filter } from "../../core/api";
import { hear } from "../../core/events";
import { useKeys } from "../../core/keys";
import { useNewest } from "../../core/newest";
import { go, place } from "../../core/router";
import { today, vault as kept, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { duration } from "../../core/time";
import type { Rec, Verified } from "../../core/types";
import { deedOf, subjectOf, whoIs } from "../../core/who";
import { Avatar, Empty, Failure, Icon, Skeleton, spell, Strange, Time, WhoMark } from "../../parts/parts";
import { Rows } from "../../parts/rows";
import { CallView } from "./call";

const HEIGHT = 40;
const NARROW = 56;
const KEPT = 20_000; // rows in memory
const FIRST = 50; // records that are read before more than a screen is asked for
const PAGE = 200;

const NAMES = ["q", "caller", "result", "within", "note", "event"] as const;
type Words = Partial<Record<(typeof NAMES)[number], string>>;

/** Seconds before now; of an address that somebody wrote, anything. */
const WITHIN_MAX = 10 * 366 * 86_400;
const isWithin = (text: string): boolean => /^\d+$/.test(text) && Number(text) > 0 && Number(text) <= WITHIN_MAX;

function readWords(): Words {
  const out: Words = {};
  for (const name of NAMES) {
    const value = place.value.query.get(name);
    if (value && (name !== "within" || isWithin(value))) out[name] = value;
  }
  return out;
}
function filterOf(words: Words): Filter {
  const { within, ...rest } = words;
  return within ? { ...rest, since: new Date(Date.now() - Number(within) * 1000).toISOString() } : rest;
}
const searchOf = (words: Words): string => {
  const text = new URLSearchParams(Object.entries(words).filter(([, v]) => v)).toString();
  return text ? `?${text}` : "";
};

interface List { records: Rec[]; next: string } // `next`: where reading goes on
/** The first page, read anew; what was read beyond it stays. */
function renewed(was: List | null, page: List): List {
  const last = page.records.at(-1)?.mac;
  const at = was?.records.findIndex((r) => r.mac === last) ?? -1;
  return was && at >= 0 && at < was.records.length - 1 ? { records: [...page.records, ...was.records.slice(at + 1)].slice(0, KEPT), next: was.next } : { records: page.records, next: page.next };
}

/** The records that fit, the newest first; more are read when the end is near, and new ones come by themselves. */
function useRecords(vault: string, words: Words) {
  const [list, setList] = useState<List | null>(null);
  const [failed, setFailed] = useState("");
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const reading = useRef(""); // the `next` that is being read from
  const shown = useRef(false);
  const search = searchOf(words);
  const known = vault !== "" || today.value !== null; // else which vault it is comes with the day
  const newest = useNewest([vault, search]);
  const newestMore = useNewest([vault, search]);
  const fail = (e: unknown) => setFailed(wordsOf(e));
  const read = () => {
    if (known) void newest((signal) => getActivity(vault, filterOf(words), "", shown.current ? PAGE : FIRST, signal), (page) => {
      shown.current = true;
      setList((was) => renewed(was, page));
      setFailed(page.odd ?? "");
    }, fail);
  };
  const more = () => {
    const before = list?.next;
    if (!before || reading.current === before) return;
    reading.current = before;
    void newestMore((signal) => getActivity(vault, filterOf(words), before, PAGE, signal), (page) => {
      setList((was) => (was?.next === before ? { records: [...was.records, ...page.records].slice(0, KEPT), next: page.next } : was));
      setFailed(page.odd ?? "");
    }, (e) => { reading.current = ""; fail(e); });
  };
  useEffect(() => {
    setList(null);
    shown.current = false;
    reading.current = "";
    read();
  }, [vault, search, known]);
  useEffect(() => {
    let timer = 0;
    let batch: Rec[] = [];
    const off = hear("record", ({ vault: of, record, look }) => {
      if (of !== vault && !(vault === "own" && of === "")) return;
      if (look && !search) return; // what a page or the doctor reads is not listed
      if (search) { // whether it fits is the server's to say
        if (!timer) timer = window.setTimeout(() => { timer = 0; read(); }, 300);
        return;
      }
      batch.push(record);
      if (!timer) timer = window.setTimeout(() => {
        timer = 0;
        const came = batch;
        batch = [];
        setFresh(new Set(came.map((r) => r.mac)));
        setList((was) => was && { ...was, records: [...came.reverse().filter((r) => !was.records.slice(0, 50).some((o) => o.mac === r.mac)), ...was.records].slice(0, KEPT) });
      }, 60);
    });
    const again = hear("hello", () => read());
    return () => { off(); again(); clearTimeout(timer); };
  }, [vault, search, known]);
  return { records: list?.records ?? null, failed, fresh, retry: read, more };
}

function Row({ r, chosen, fresh, at }: { r: Rec; chosen: boolean; fresh: boolean; at: string }) {
  const who = whoIs(r.caller, r.client);
  const notes = r.notes ?? [];
  const subject = notes.length ? "" : subjectOf(r) || (Array.isArray(r.calls) ? (r.calls as string[]) : Object.keys(r.calls ?? {})).slice(0, 3).join(", ");
  return (
    <a class={`record${chosen ? " chosen" : ""}${fresh ? " fresh" : ""}`} href={at} aria-current={chosen ? "true" : undefined}>
      <Time time={r.time} />
      <Avatar name={who.name} you={who.you} />
      <span class="record-what"><WhoMark caller={r.caller} client={r.client} plain /> <span class={r.changed ? "deed strong" : "deed"}>{deedOf(r)}</span></span>
      <span class="record-about">{notes.slice(0, 2).map((n) => <Strange key={n} text={n} />)}{notes.length > 2 && <span class="quiet">+{notes.length - 2 + (r.more_notes ?? 0)}</span>}{subject && <Strange text={subject} />}</span>
      <span class="record-end">{r.result && r.result !== "success" ? <span class={`tag ${r.result === "allowed" ? "good" : "bad"}`}>{r.result}</span> : r.event !== "call" ? <span class="tag">{r.event.split(" ")[0]}</span> : r.ms !== undefined ? <span class="quiet">{duration(r.ms)}</span> : null}</span>
    </a>
  );
}

function Verify({ vault }: { vault: string }) {
  const [state, setState] = useState<"" | "checking" | Verified>("");
  const [failed, setFailed] = useState("");
  const newest = useNewest([vault]);
  useEffect(() => { setState(""); setFailed(""); }, [vault]);
  const check = () => {
    setState("checking");
    setFailed("");
    void newest(() => getVerified(vault), setState, (e) => { setState(""); setFailed(wordsOf(e)); });
  };
  if (failed) return <span class="verified ill" role="status">{spell(failed)}</span>;
  if (typeof state === "object") {
    const bad = state.trails.find((one) => !one.ok);
    return <span class={`verified ${state.ok ? "well" : "ill"}`} role="status"><Icon name={state.ok ? "shield" : "warn"} size={16} />
      {state.ok ? t.activity.sound(state.trails.reduce((n, one) => n + one.records, 0)) : `${t.activity.unsound}: ${bad?.bad?.why ?? bad?.missing?.why ?? ""}`}</span>;
  }
  return <button type="button" disabled={state === "checking"} onClick={check}><Icon name="shield" size={16} />{state ? t.activity.verifying : t.activity.verify}</button>;
}

export function ActivityView() {
  // The day need not be waited for where the tab knows its vault.
  const vault = place.value.query.get("of") === "own" ? "own" : today.value ? today.value.vault ?? "" : kept.value;
  const words = readWords();
  const mac = place.value.parts[1] ?? "";
  const field = useRef<HTMLInputElement>(null);
  const narrow = useNarrow();
  const { records, failed, fresh, retry, more } = useRecords(vault, words);
  const at = records?.findIndex((r) => r.mac === mac) ?? -1;
  const suffix = searchOf(words) + (vault === "own" ? `${searchOf(words) ? "&" : "?"}of=own` : "");
  const pathOf = (r?: Rec) => `/activity${r ? `/${r.mac}` : ""}${suffix}`;
  const set = (name: keyof Words | "of", value: string) => {
    const all = new URLSearchParams(place.value.query);
    all.delete("focus");
    if (value) all.set(name, value);
    else all.delete(name);
    go(`/activity${mac ? `/${mac}` : ""}${all.size ? `?${all}` : ""}`, "replace");
  };
  const step = (by: number) => {
    const next = records?.[Math.min(Math.max(at + by, 0), records.length - 1)];
    if (next) go(pathOf(next), mac ? "replace" : "push");
  };
  useKeys({
    j: () => step(1), k: () => step(-1), "/": () => field.current?.focus(),
    Escape: () => { if (document.activeElement === field.current) field.current?.blur(); else if (mac) go(pathOf()); },
  });
  useEffect(() => { if (place.value.query.get("focus")) field.current?.focus(); }, []);
  const agents = useMemo(() => [...new Map((today.value?.agents ?? []).map((a) => [a.name ?? a.caller, a])).keys()], [today.value]);
  const version = useMemo(() => ({}), [mac, suffix, fresh, narrow]);
  const filtered = Object.keys(words).length > 0;
  return (
    <div class={`view activity${mac ? " opened" : ""}`}>
      <div class="timeline">
        <header class="tools-row">
          <h1>{t.activity.title}</h1>
          <label class="search"><Icon name="search" size={16} />
            <input ref={field} type="search" placeholder={t.activity.search} aria-label={t.activity.search} value={words.q ?? ""} spellcheck={false} onInput={(e) => set("q", e.currentTarget.value)} /></label>
          <select aria-label={t.activity.who} value={vault === "own" ? "" : words.caller ?? ""} disabled={vault === "own"} onChange={(e) => set("caller", e.currentTarget.value)}>
            <option value="">{t.activity.who}</option>{[...new Set([...agents, ...(words.caller ? [words.caller] : [])])].map((name) => <option key={name} value={name}>{spell(whoIs(name).you ? whoIs(name).name : name)}</option>)}
          </select>
          <select aria-label={t.activity.results[""]} value={words.result ?? ""} onChange={(e) => set("result", e.currentTarget.value)}>
            {Object.entries(t.activity.results).map(([value, text]) => <option key={value} value={value}>{text}</option>)}
          </select>
          <select aria-label={t.activity.times[""]} value={words.within ?? ""} onChange={(e) => set("within", e.currentTarget.value)}>
            {Object.entries(t.activity.times).map(([value, text]) => <option key={value} value={value}>{text}</option>)}
          </select>
          <label class="switch"><input type="checkbox" checked={vault === "own"} onChange={(e) => set("of", e.currentTarget.checked ? "own" : "")} />{t.activity.own}</label>
          <Verify vault={vault} />
        </header>
        {failed && <Failure text={failed} retry={retry} />}
        {!records && !failed && <Skeleton lines={12} />}
        {records && !records.length && (
          <Empty icon="activity" title={filtered ? t.activity.noMatch : t.activity.none}>
            {filtered ? <button type="button" onClick={() => go("/activity", "replace")}>{t.activity.clear}</button> : <p class="quiet">{t.activity.noneHint}</p>}
          </Empty>
        )}
        {records && records.length > 0 && <Rows items={records} height={narrow ? NARROW : HEIGHT} id={(r) => r.mac} label={t.activity.title} selected={mac} onEnd={more} version={version}
          row={(r) => <Row r={r} chosen={r.mac === mac} fresh={fresh.has(r.mac)} at={pathOf(r)} />} />}
      </div>
      {mac && <CallView key={`${vault} ${mac}`} vault={vault} mac={mac} close={() => go(pathOf())} />}
    </div>
  );
}

function useNarrow(): boolean {
  const wide = useMemo(() => matchMedia("(max-width: 46rem)"), []);
  const [narrow, setNarrow] = useState(wide.matches);
  useEffect(() => {
    const look = () => setNarrow(wide.matches);
    wide.addEventListener("change", look);
    return () => wide.removeEventListener("change", look);
  }, []);
  return narrow;
}
