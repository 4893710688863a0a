// A note's text as it is read: its links lead to notes of the page, its embeds hold the notes that they name.
import { useEffect, useRef, useState } from "preact/hooks";
import { getLinks, getNote, noteHref, type Link } from "../../core/notes";
import { partOf } from "../../core/part";
import { afterPress } from "../../core/press";
import { t } from "../../core/texts";
import { Failure } from "../../parts/parts";

const getMarkdown = partOf(() => import("../../core/markdown"));
const DEPTH = 3; // embeds within embeds
type Renderer = (markdown: string) => DocumentFragment;

const plain = (target: string): string => target.replace(/[#^].*$/, "").trim();

function linkUp(box: HTMLElement, out: readonly Link[]): void {
  const known = new Map<string, Link>();
  for (const link of out) known.set(link.target, link).set(plain(link.target), link);
  for (const link of box.querySelectorAll<HTMLAnchorElement>("a[data-target]")) {
    const target = link.dataset.target!;
    const to = known.get(target) ?? known.get(plain(target));
    if (to?.target_note_id) {
      link.setAttribute("href", noteHref(to.target_note_id));
      link.title = to.target_note_id;
    } else if (to && !to.file) {
      link.classList.add("broken");
      link.setAttribute("href", `/notes?new=${encodeURIComponent(plain(target))}`);
      link.title = t.notesView.noSuch;
    }
  }
}

async function fillEmbeds(box: HTMLElement, vault: string, out: readonly Link[], within: readonly string[], render: Renderer, goesOn: () => boolean): Promise<void> {
  for (const one of box.querySelectorAll<HTMLElement>("span.embed[data-target]")) {
    const target = plain(one.dataset.target!);
    const id = out.find((link) => link.target === one.dataset.target || plain(link.target) === target)?.target_note_id;
    if (!id || within.includes(id) || within.length > DEPTH) {
      one.textContent = one.dataset.target!;
      continue;
    }
    const head = document.createElement("a");
    head.textContent = id;
    head.className = "embed-head";
    head.setAttribute("href", noteHref(id));
    try {
      const [note, links] = await Promise.all([getNote(vault, id), getLinks(vault, id)]);
      if (!goesOn()) return;
      const inner = document.createElement("span");
      inner.className = "embed-body";
      inner.append(render(note.markdown));
      linkUp(inner, links.out);
      afterPress(() => one.replaceChildren(head, inner));
      await fillEmbeds(inner, vault, links.out, [...within, id], render, goesOn);
    } catch {
      afterPress(() => one.replaceChildren(head));
    }
  }
}

export function Rendered({ vault, id, markdown, out }: { vault: string; id: string; markdown: string; out: readonly Link[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [render, setRender] = useState<{ fn: Renderer } | null>(null);
  const [failed, setFailed] = useState(false);
  const load = () => void getMarkdown().then((m) => { setRender({ fn: m.renderMarkdown }); setFailed(false); }, () => setFailed(true));
  useEffect(load, []);
  useEffect(() => {
    const at = box.current;
    if (!render || !at) return;
    let on = true;
    at.removeAttribute("dir"); // with it, Chromium looks at all children for each that is added
    at.replaceChildren(render.fn(markdown));
    at.dir = "auto";
    linkUp(at, out);
    void fillEmbeds(at, vault, out, [id], render.fn, () => on);
    return () => { on = false; };
  }, [render, markdown, out]);
  if (failed) return <Failure text={t.notLoaded} retry={load} />;
  return <div class="rendered" ref={box} dir="auto" aria-busy={!render} />;
}
