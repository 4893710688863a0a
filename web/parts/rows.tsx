// A long list of rows of one height, of which only those in sight are in the document: at first just these, and after the
// first picture some more on either side.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface RowsProps<T> {
  items: readonly T[]; height: number; /* in px, of text of the usual size */ id: (item: T) => string; row: (item: T, at: number) => ComponentChildren;
  label: string; onEnd?: () => void;
  selected?: string; // the id of a row: it is brought into sight when it becomes another, not when rows come or go
  of?: string; // another one: another list, which begins at its top. Within one, what is read stays where it is
  plain?: boolean; // nothing in a row takes the focus: the list does
  version: unknown; // another one: what `row` makes of the same item is another
}
const BEYOND = 12; // rows above and below those in sight
const USUAL_PX = 14; // of the browser's text, which a person may have made larger
const STEP = 6; // scrolled by fewer rows, nothing is made anew
const LOOKED_FOR = 20; // rows in sight, of which one is still there

/** By how many rows the first of these rows that is still there was moved. */
function moved<T>(was: readonly T[], items: readonly T[], id: (item: T) => string, from: number): number {
  for (let i = from; i < Math.min(from + LOOKED_FOR, was.length); i++) {
    const wanted = id(was[i]);
    const at = items.findIndex((item) => id(item) === wanted);
    if (at >= 0) return at - i;
  }
  return 0;
}

export function Rows<T>({ items, height: usual, id, row, label, selected = "", of = "", onEnd, version, plain = false }: RowsProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [scale] = useState(() => Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_PX));
  const height = usual * scale;
  const [view, setView] = useState(() => ({ from: 0, to: Math.ceil(innerHeight / height) }));
  const beyond = useRef(0);
  const made = useRef({ version, height, rows: new Map<T, VNode>() });
  if (made.current.version !== version || made.current.height !== height) made.current = { version, height, rows: new Map() };
  const read = useRef({ items, of, top: 0 }); // what was read last, and where
  const owed = useRef(""); // the selected row, until it was brought into sight
  const look = () => {
    const b = box.current;
    if (!b) return;
    read.current.top = b.scrollTop;
    const from = Math.max(0, Math.floor(b.scrollTop / height / STEP) * STEP - beyond.current);
    const to = from + Math.ceil(b.clientHeight / height) + STEP + 2 * beyond.current;
    setView((was) => (was.from === from && was.to === to ? was : { from, to }));
    if (onEnd && beyond.current && to >= items.length) onEnd();
  };
  const looks = useRef(look);
  looks.current = look;
  useLayoutEffect(() => {
    const b = box.current!;
    const was = read.current;
    if (was.of !== of) {
      b.scrollTop = 0;
      owed.current = selected;
    } else if (was.items !== items && was.top) b.scrollTop = was.top + height * moved(was.items, items, id, Math.floor(was.top / height));
    read.current = { items, of, top: b.scrollTop };
    if (beyond.current || b.scrollTop) look();
  }, [items, of, height]);
  useEffect(() => { // it has been drawn
    beyond.current = BEYOND;
    const watch = new ResizeObserver(() => looks.current()); // tells of its size at once
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => { owed.current = selected; }, [selected]);
  useEffect(() => {
    const b = box.current;
    const at = b && owed.current ? items.findIndex((item) => id(item) === owed.current) : -1;
    if (!b || at < 0) return;
    owed.current = "";
    const top = at * height;
    if (top < b.scrollTop) b.scrollTop = top;
    else if (top + height > b.scrollTop + b.clientHeight) b.scrollTop = top + height - b.clientHeight;
  }, [selected, items, of]);
  const shown = items.slice(view.from, view.to);
  const rows = new Map<T, VNode>(); // an element that is the same is not compared again
  shown.forEach((item, i) => rows.set(item, made.current.rows.get(item) ??
    <div key={id(item)} class="row-slot" role="listitem" style={{ height: `${height}px` }}>{row(item, view.from + i)}</div>));
  made.current.rows = rows;
  return (
    <div class="rows" ref={box} onScroll={() => { if (box.current?.scrollTop !== read.current.top) owed.current = ""; look(); }} role="list" aria-label={label} tabIndex={plain ? 0 : -1}>
      <div class="rows-all" style={{ height: `${items.length * height}px` }}>
        <div class="rows-shown" style={{ transform: `translateY(${view.from * height}px)` }}>
          {[...rows.values()]}
        </div>
      </div>
    </div>
  );
}
