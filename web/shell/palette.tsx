// Finds places, actions, notes, functions, tools, vaults and recent deeds by a few letters.
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { useDialog } from "../core/focus";
import { useNewest } from "../core/newest";
import { go } from "../core/router";
import { chooseVault, today } from "../core/store";
import { t } from "../core/texts";
import { deedOf, whoIs } from "../core/who";
import { Icon, spell, Strange } from "../parts/parts";
import { PLACES } from "./shell";

interface Found { id: string; icon: string; text: string; detail: string; run: () => void; strange?: boolean; done?: boolean } // strange: a name that others gave; done: what somebody did
const CALM_MS = 120; // after the last key: then the vault is asked
const OF_A_KIND = 5;
const SHOWN = 14;

const to = (path: string) => () => go(path);
const ACTIONS: Found[] = ([["notes", t.actions.note, "/notes?new="], ["functions", t.actions.fn, "/functions?new"], ["tools", t.actions.tool, "/toolbox"], ["key", t.actions.token, "/settings/tokens"],
  ["shield", t.actions.may, "/settings/access"], ["notes", t.actions.graph, "/notes?show=graph"], ["notes", t.actions.broken, "/notes?show=broken"], ["notes", t.actions.trash, "/notes?show=trash"]] as const)
  .map(([icon, text, path]) => ({ id: `action ${path}`, icon, text, detail: t.found.action, run: to(path) }));

function all(): Found[] {
  const day = today.value;
  return [
    ...PLACES.map((p) => ({ id: p.path, icon: p.id, text: t.places[p.id], detail: p.key, run: () => go(p.path) })),
    ...ACTIONS,
    ...(day?.vaults ?? []).filter((v) => v.id !== day?.vault).map((v) => ({ id: `vault ${v.id}`, icon: "note", text: spell(v.name), detail: t.vault, run: () => chooseVault(v.id) })),
    ...(day?.changes ?? []).slice(0, 40).map((r) => ({
      id: r.mac, icon: "activity", text: `${spell(whoIs(r.caller, r.client).name)} ${deedOf(r)}`, detail: spell((r.notes ?? []).join(", ")),
      run: () => go(`/activity/${r.mac}`), done: true,
    })),
  ];
}

/** Notes, functions and tools of the vault; of what does not answer, none. */
async function lookIn(vault: string, wanted: string, signal: AbortSignal): Promise<Found[]> {
  const [notes, functions, tools] = await Promise.all([import("../core/notes"), import("../core/functions"), import("../core/tools")]);
  const [hits, named, all] = await Promise.all([
    notes.searchNotes(vault, wanted, signal).catch(() => []), functions.listFunctions(vault, { query: wanted, limit: OF_A_KIND }, signal).catch(() => []),
    tools.getTools(vault, signal).then((a) => a.tools, () => []),
  ]);
  const fits = all.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(wanted.toLowerCase()));
  const found = (icon: string, text: string, detail: string, path: string): Found => ({ id: path, icon, text, detail, strange: true, run: to(path) });
  return [
    ...hits.slice(0, OF_A_KIND).map((n) => found("note", n.title, t.found.note, notes.noteHref(n.id))),
    ...named.map((f) => found("functions", f.name, t.found.fn, `/functions/${encodeURIComponent(f.name)}`)),
    ...fits.slice(0, OF_A_KIND).map((tool) => found("tools", tool.name, t.found.tool, `/toolbox/${encodeURIComponent(tool.name)}`)),
  ];
}

/** What is named just so comes first, and what was done comes last. */
const rankOf = (f: Found, wanted: string): number => (wanted && f.text.toLowerCase() === wanted ? 0 : f.done ? 2 : 1);

const NONE: Found[] = [];
/** They come a moment later, and only for words that are still wanted. */
function useVault(words: string): Found[] {
  const [found, setFound] = useState({ of: "", rows: NONE });
  const wanted = words.trim();
  const newest = useNewest([wanted]);
  useEffect(() => {
    const vault = today.value?.vault;
    if (!wanted || !vault) return;
    const timer = setTimeout(() => void newest((signal) => lookIn(vault, wanted, signal), (rows) => setFound({ of: wanted, rows })), CALM_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  return found.of === wanted ? found.rows : NONE;
}

export function Palette({ close }: { close: () => void }) {
  const [words, setWords] = useState("");
  const [choice, setChoice] = useState({ id: "", byKey: true }); // the first one while nobody has chosen
  const vault = useVault(words);
  const found = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const near = all().filter((f) => wanted.every((w) => `${f.text} ${f.detail}`.toLowerCase().includes(w)));
    const ranked = [...near.slice(0, vault.length ? OF_A_KIND : SHOWN), ...vault].map((f) => ({ f, rank: rankOf(f, words.trim().toLowerCase()) }));
    const first = ranked.sort((a, b) => a.rank - b.rank).map(({ f }) => f).slice(0, SHOWN);
    const chosen = near.find((f) => f.id === choice.id); // stays, whatever comes
    return !chosen || first.includes(chosen) ? first : [...first.slice(0, SHOWN - 1), chosen];
  }, [words, vault]);
  const at = Math.max(found.findIndex((f) => f.id === choice.id), 0);
  useLayoutEffect(() => { if (choice.byKey) document.getElementById(`found-${at}`)?.scrollIntoView({ block: "nearest" }); }, [found, at, choice]);
  const box = useDialog<HTMLDivElement>(close);
  const choose = (f?: Found) => { close(); f?.run(); };
  const onKey = (e: KeyboardEvent) => {
    const move = (to: number) => { if (found[to]) setChoice({ id: found[to].id, byKey: true }); };
    if (e.key === "ArrowDown") move(at + 1);
    else if (e.key === "ArrowUp") move(at - 1);
    else if (e.key === "Enter") choose(found[at]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="overlay top" onClick={close}>
      <div class="sheet palette" ref={box} role="dialog" aria-modal="true" aria-label={t.palette} onClick={(e) => e.stopPropagation()}>
        <input type="text" value={words} placeholder={t.palette} aria-label={t.palette} spellcheck={false}
          role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant={`found-${at}`}
          onInput={(e) => { setWords(e.currentTarget.value); setChoice({ id: "", byKey: true }); }} onKeyDown={onKey} />
        <ul id="found" role="listbox" aria-label={t.palette}>
          {found.map((f, i) => (
            <li key={i} id={`found-${i}`} role="option" aria-selected={i === at} onClick={() => choose(f)} onMouseMove={() => { if (i !== at) setChoice({ id: f.id, byKey: false }); }}>
              <Icon name={f.icon} size={16} />{f.strange ? <Strange text={f.text} /> : <span>{f.text}</span>}<span class="quiet">{f.detail}</span>
            </li>
          ))}
        </ul>
        {words.trim() && !found.length && <p class="quiet none" role="status">{t.found.none}</p>}
      </div>
    </div>
  );
}
