// Where the keyboard is: it never falls to nowhere. What had the focus and is gone gives it to what came in its place, or
// to what it stood in; what opens over the page takes it, keeps it, and gives it back.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

const CALM_MS = 60; // a view that places the focus itself has done so by then
const ITEM = "li, tr, [role=listitem]";
const LIST = "ul, ol, table, [role=list]";
const REACHED = "a[href], button, input, select, textarea, summary, [tabindex]";

/** A control, to be found again when it was made anew. */
interface Mark { of: Element; above: Element[]; tag: string; name: string; href: string | null }
let last: Mark | null = null;
let inView: Mark | null = null; // the last one that is no message's, which goes by itself

const nameOf = (e: Element): string => e.getAttribute("aria-label") ?? (e.textContent ?? "").trim();
const nowhere = (): boolean => !document.activeElement || document.activeElement === document.body;
const usable = (e: Element): e is HTMLElement => e instanceof HTMLElement && !e.matches(":disabled") && e.getClientRects().length > 0;

function markOf(of: Element): Mark {
  const above: Element[] = [];
  for (let e = of.parentElement; e; e = e.parentElement) above.push(e);
  return { of, above, tag: of.tagName, name: nameOf(of), href: of.getAttribute("href") };
}

/** What the keyboard reaches in it, in its order. */
const reachable = (within: Element): HTMLElement[] => [...within.querySelectorAll(REACHED)].filter((e): e is HTMLElement => usable(e) && e.tabIndex >= 0);

const itemGone = (above: Element[]): boolean => above.some((e) => !e.isConnected && e.matches(ITEM));

/** The same control made anew, if there is one alone. Where a row has gone, or was scrolled out of a long list, what is
 * named alike in another row is about something else: only a link that leads to the same place is the same. */
function again({ above, tag, name, href }: Mark, within: Element): HTMLElement | null {
  if (!name || (href === null && itemGone(above))) return null;
  const same = [...within.querySelectorAll(tag)].filter((e): e is HTMLElement => usable(e) && nameOf(e) === name && e.getAttribute("href") === href);
  return same.length === 1 ? same[0] : null;
}

/** It goes to the same control, or to what that stood in: the next Tab leads on from there. */
function goBack(mark: Mark): void {
  if (mark.of.isConnected && usable(mark.of)) return mark.of.focus();
  if (mark !== inView && mark.above.some((e) => e.matches(".toasts"))) return inView ? goBack(inView) : document.getElementById("content")?.focus();
  const there = mark.above.filter((e) => e.isConnected && e !== document.body && e !== document.documentElement);
  const within = there.find((e) => e.matches("main, .overlay")) ?? there[0];
  const same = within && again(mark, within);
  if (same) return same.focus({ preventScroll: true });
  const list = itemGone(mark.above) && there.find((e): e is HTMLElement => usable(e) && e.matches(LIST));
  const nearest = list || there.find(usable) || document.getElementById("content");
  if (!nearest) return;
  if (!nearest.hasAttribute("tabindex")) {
    nearest.setAttribute("tabindex", "-1");
    nearest.addEventListener("blur", () => nearest.removeAttribute("tabindex"), { once: true });
  }
  nearest.focus({ preventScroll: true });
}

export function keepFocus(): void {
  let timer = 0;
  addEventListener("focusin", (e) => {
    if (!(e.target instanceof Element)) return;
    last = markOf(e.target);
    if (!e.target.closest(".toasts")) inView = last;
  });
  addEventListener("pointerup", () => setTimeout(() => { if (nowhere() && last?.of.isConnected) last = null; })); // a click at nothing
  const look = () => {
    timer = 0;
    if (!last || !nowhere() || !document.hasFocus()) return;
    if (last.of.isConnected && last.of.matches(":disabled")) return; // it comes back, or goes
    goBack(last);
  };
  new MutationObserver(() => { if (last && !timer && nowhere()) timer = window.setTimeout(look, CALM_MS); })
    .observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden"] });
}

/** Whether the person is writing somewhere: what becomes ready meanwhile leaves the focus there. */
export const writing = (): boolean => document.activeElement instanceof HTMLElement && document.activeElement.matches("input, textarea, select, [contenteditable], .editor-host *");

/** For what appears in the place of a control that had the focus: it takes it, and gives it back when it goes. */
export function useInPlace<T extends HTMLElement>(): RefObject<T | null> {
  const ref = useRef<T>(null);
  useLayoutEffect(() => {
    const opener = last;
    if (nowhere() || (opener && opener.of === document.activeElement)) reachable(ref.current!)[0]?.focus();
    return () => { setTimeout(() => { if (nowhere() && opener) goBack(opener); }); };
  }, []);
  return ref;
}

/** For a dialog: the focus and the keys are its own while it is open, and where they were before afterwards. */
export function useDialog<T extends HTMLElement>(close: () => void): RefObject<T | null> {
  const ref = useRef<T>(null);
  useLayoutEffect(() => {
    const opener = last;
    const box = ref.current!;
    (reachable(box)[0] ?? box).focus();
    const turn = (e: KeyboardEvent) => {
      if (!e.ctrlKey && !e.metaKey) e.stopPropagation();
      if (e.key === "Escape") close();
      if (e.key !== "Tab") return;
      const all = reachable(box);
      const at = all.indexOf(document.activeElement as HTMLElement) + (e.shiftKey ? -1 : 1);
      e.preventDefault();
      (all[(at + all.length) % all.length] ?? box).focus();
    };
    box.addEventListener("keydown", turn);
    return () => {
      box.removeEventListener("keydown", turn);
      setTimeout(() => { if (nowhere() && opener) goBack(opener); });
    };
  }, []);
  return ref;
}

/** The field that has the focus once it is there, and not again at each change. */
export function useFirstFocus<T extends HTMLElement>(): RefObject<T | null> {
  const field = useRef<T | null>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return field;
}
