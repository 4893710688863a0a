// What stands around every view: places, vault, health, what was said last, the palette.
import { signal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { forget, hasDrafts } from "../core/drafts";
import { useDialog } from "../core/focus";
import { lazy, loadAhead } from "./lazy";
import { live } from "../core/events";
import { useKeys } from "../core/keys";
import { leave } from "../core/api";
import { follow, go, place } from "../core/router";
import { chooseVault, dropToast, toast, toasts, today, trouble, undoLast, waiting, wordsOf } from "../core/store";
import { t } from "../core/texts";
import { Icon, Key, spell } from "../parts/parts";
import { TodayView } from "../views/today/today";
import { Palette } from "./palette";

const Review = lazy(() => import("../views/review/review"), (m) => m.ReviewView);
const Tools = lazy(() => import("../views/tools/tools"), (m) => m.ToolsView);
const Connect = lazy(() => import("../views/connect/connect"), (m) => m.ConnectView);
const Run = lazy(() => import("../views/run/run"), (m) => m.RunView);
const Notes = lazy(() => import("../views/notes/notes"), (m) => m.NotesView);
const Functions = lazy(() => import("../views/functions/functions"), (m) => m.FunctionsView);
const Performance = lazy(() => import("../views/performance/performance"), (m) => m.PerformanceView);
const Settings = lazy(() => import("../views/settings/settings"), (m) => m.SettingsView);
const Health = lazy(() => import("../views/health/health"), (m) => m.HealthView);
const Machines = lazy(() => import("../views/machine/machine"), (m) => m.MachineView);
const Activity = lazy(() => import("../views/activity/activity"), (m) => m.ActivityView);

export const PLACES = [
  { id: "today", path: "/", key: "g t" },
  { id: "review", path: "/review", key: "g r" },
  { id: "activity", path: "/activity", key: "g a" },
  { id: "notes", path: "/notes", key: "g n" },
  { id: "tools", path: "/toolbox", key: "g w" },
  { id: "run", path: "/run", key: "g e" },
  { id: "machine", path: "/machine", key: "g m" },
  { id: "functions", path: "/functions", key: "g f" },
  { id: "performance", path: "/performance", key: "g p" },
  { id: "settings", path: "/settings", key: "g s" },
  { id: "connect", path: "/connect", key: "g c" },
  { id: "health", path: "/health", key: "g h" },
] as const;

/** The place whose path the address is, or is below. */
export const placeOf = (): (typeof PLACES)[number]["id"] => PLACES.find((p) => p.path === `/${place.value.parts[0] ?? ""}`)?.id ?? "today";

const VIEWS = { today: TodayView, review: Review, activity: Activity, notes: Notes, tools: Tools, run: Run, machine: Machines, connect: Connect, health: Health, settings: Settings, functions: Functions, performance: Performance };
/** Where the screen is narrow, the others stand behind "More". */
const NEAR = 4;

const overlay = signal<"" | "palette" | "keys" | "more">("");
const close = () => { overlay.value = ""; };

function VaultSwitch() {
  const vaults = today.value?.vaults ?? [];
  const current = vaults.find((v) => v.id === today.value?.vault);
  return (
    <label class="vault">
      <span class="vault-name">{current ? spell(current.name) : vaults.length ? "…" : t.noVault}</span>
      <Icon name="down" size={14} />
      <select aria-label={t.vault} value={current?.id} disabled={vaults.length < 2}
        onChange={(e) => chooseVault(e.currentTarget.value)}>
        {vaults.map((v) => <option key={v.id} value={v.id}>{spell(v.name)}</option>)}
      </select>
    </label>
  );
}

/** What is not saved would be lost by it, and is asked about before the server is told. */
async function leaveForGood(): Promise<void> {
  if (hasDrafts() && !window.confirm(t.leaveDrafts)) return;
  try {
    await leave();
    forget();
    location.reload();
  } catch (e) {
    toast(wordsOf(e), undefined, "bad");
  }
}

function Bar() {
  const here = placeOf();
  const health = today.value?.health;
  const well = live.value !== "broken" && !trouble.value && (health ? health.policy && health.disk.ok : true);
  const words = live.value === "broken" ? t.broken : live.value === "opening" ? t.opening : well ? t.live : trouble.value || health?.why || health?.disk.why || t.today.health;
  return (
    <nav class="bar" aria-label={t.name}>
      <div class="brand"><img src="/assets/icon.svg" width={22} height={22} alt="" /><VaultSwitch /></div>
      <button type="button" class="find" onClick={() => { overlay.value = "palette"; }}>
        <Icon name="search" size={16} /><span>{t.palette}</span><Key of="Ctrl K" />
      </button>
      <ul class="places">
        {PLACES.map((p, i) => (
          <li key={p.id} class={i < NEAR ? "" : "far"}>
            <a href={p.path} aria-current={here === p.id ? "page" : undefined}>
              <Icon name={p.id} /><span>{t.places[p.id]}</span>
              {p.id === "review" && waiting.value > 0 && <span class="count">{waiting.value}</span>}
            </a>
          </li>
        ))}
        <li class="only-narrow"><button type="button" class="ghost" aria-haspopup="dialog" onClick={() => { overlay.value = "more"; }}><Icon name="more" /><span>{t.more}</span></button></li>
      </ul>
      <div class="foot">
        <span class={`health ${well ? "well" : "ill"}`} title={words}><i />{spell(words)}</span>
        <button type="button" class="ghost" title={t.leaveHint} aria-label={t.leave} onClick={() => void leaveForGood()}><Icon name="leave" size={16} /></button>
      </div>
    </nav>
  );
}

function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast tone-${one.tone}`}>
          <span>{spell(one.text)}</span>
          {one.act && <button type="button" onClick={() => { dropToast(one.id); one.act!.run(); }}>{one.act.text}</button>}
          <button type="button" class="ghost" aria-label={t.close} onClick={() => dropToast(one.id)}><Icon name="close" size={14} /></button>
        </div>
      ))}
    </div>
  );
}

/** The places that a narrow screen has no room for, with the rest of the bar. */
function More() {
  const box = useDialog<HTMLDivElement>(close);
  return (
    <div class="overlay" onClick={close}>
      <div class="sheet more-sheet" ref={box} tabIndex={-1} role="dialog" aria-modal="true" aria-label={t.moreLabel}>
        <ul>{PLACES.slice(NEAR).map((p) => <li key={p.id}><a href={p.path}><Icon name={p.id} /><span>{t.places[p.id]}</span></a></li>)}
          <li><button type="button" class="ghost" onClick={(e) => { e.stopPropagation(); overlay.value = "palette"; }}><Icon name="search" /><span>{t.palette}</span></button></li></ul>
      </div>
    </div>
  );
}

function KeysHelp() {
  const here = placeOf();
  const of = t.keysOf[here] ? here : "list";
  const box = useDialog<HTMLDivElement>(close);
  return (
    <div class="overlay" onClick={close}>
      <div class="sheet" ref={box} tabIndex={-1} role="dialog" aria-modal="true" aria-label={t.keys} onClick={(e) => e.stopPropagation()}>
        <h2>{t.keys}</h2>
        <dl class="keys">{[...t.keysOf[of], ...t.keysOf.everywhere].map(([key, what]) => <div key={key}><dt><Key of={key} /></dt><dd>{what}</dd></div>)}</dl>
      </div>
    </div>
  );
}

/** What the next views need, as soon as the first one is there. */
function usePreparing(): void {
  const vault = today.value?.vault;
  useEffect(() => { if (today.value) loadAhead(); }, [Boolean(today.value)]);
  useEffect(() => { if (vault) void import("../core/notes").then((m) => m.readAhead(vault), () => {}); }, [vault]);
}

export function Shell() {
  usePreparing();
  useSignalEffect(() => {
    const here = t.places[placeOf()];
    document.title = `${waiting.value ? `(${waiting.value}) ` : ""}${here} · ${t.name}`;
  });
  useKeys({
    ...Object.fromEntries(PLACES.map((p) => [p.key, () => go(p.path)])),
    "ctrl k": () => { overlay.value = overlay.value === "palette" ? "" : "palette"; },
    "?": () => { overlay.value = "keys"; }, z: undoLast,
  });
  const View = VIEWS[placeOf()];
  return (
    <div class="shell" onClick={follow}>
      <a class="skip" href="#content" onClick={(e) => { e.preventDefault(); document.getElementById("content")?.focus(); }}>{t.skip}</a>
      <Bar />
      <main id="content" tabIndex={-1}>
        {live.value === "broken" && <p class="banner" role="status"><Icon name="warn" size={16} />{t.broken}</p>}
        <View />
      </main>
      <Toasts />
      {overlay.value === "palette" && <Palette close={close} />}
      {overlay.value === "keys" && <KeysHelp />}
      {overlay.value === "more" && <More />}
    </div>
  );
}
