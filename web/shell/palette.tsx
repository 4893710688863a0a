// Finds places, vaults and recent deeds by a few letters.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go } from "../core/router";
import { chooseVault, today } from "../core/store";
import { t } from "../core/texts";
import { deedOf, whoIs } from "../core/who";
import { Icon, spell } from "../parts/parts";
import { PLACES } from "./shell";

interface Found { icon: string; text: string; detail: string; run: () => void }

function all(): Found[] {
  const day = today.value;
  return [
    ...PLACES.map((p) => ({ icon: p.id, text: t.places[p.id], detail: p.key, run: () => go(p.path) })),
    ...(day?.vaults ?? []).filter((v) => v.id !== day?.vault).map((v) => ({ icon: "note", text: spell(v.name), detail: t.vault, run: () => chooseVault(v.id) })),
    ...(day?.changes ?? []).slice(0, 40).map((r) => ({
      icon: "activity", text: `${spell(whoIs(r.caller, r.client).name)} ${deedOf(r)}`, detail: spell((r.notes ?? []).join(", ")),
      run: () => go(`/activity/${r.mac}`),
    })),
  ];
}

export function Palette({ close }: { close: () => void }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const found = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return all().filter((f) => wanted.every((w) => `${f.text} ${f.detail}`.toLowerCase().includes(w))).slice(0, 12);
  }, [words]);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    field.current?.focus();
    return () => before?.focus?.();
  }, []);
  const choose = (f?: Found) => { close(); f?.run(); };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (e.key === "Enter") choose(found[at]);
    else if (e.key === "Escape") close();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="overlay top" onClick={close}>
      <div class="sheet palette" role="dialog" aria-modal="true" aria-label={t.palette} onClick={(e) => e.stopPropagation()}>
        <input ref={field} type="text" value={words} placeholder={t.palette} aria-label={t.palette} spellcheck={false}
          role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant={`found-${at}`}
          onInput={(e) => { setWords(e.currentTarget.value); setAt(0); }} onKeyDown={onKey} />
        <ul id="found" role="listbox" aria-label={t.palette}>
          {found.map((f, i) => (
            <li key={i} id={`found-${i}`} role="option" aria-selected={i === at} onClick={() => choose(f)} onMouseMove={() => setAt(i)}>
              <Icon name={f.icon} size={16} /><span>{f.text}</span><span class="quiet">{f.detail}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
