// A long list of rows of one height, of which only those in sight are in the document: at first just these, and after the
// first picture some more on either side.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface RowsProps<T> {
  items: readonly T[]; height: number; /* in px, of text of the usual size */ id: (item: T) => string; row: (item: T, at: number) => ComponentChildren;
  label: string; selected?: number; onEnd?: () => void;
  plain?: boolean; // nothing in a row takes the focus: the list does
  version: unknown; // another one: what `row` makes of the same item is another
}
const BEYOND = 12; // rows above and below those in sight
const USUAL_PX = 14; // of the browser's text, which a person may have made larger
const STEP = 6; // scrolled by fewer rows, nothing is made anew

export function Rows<T>({ items, height: usual, id, row, label, selected = -1, onEnd, version, plain = false }: RowsProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [scale] = useState(() => Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_PX));
  const height = usual * scale;
  const [view, setView] = useState(() => ({ from: 0, to: Math.ceil(innerHeight / height) }));
  const beyond = useRef(0);
  const made = useRef({ version, height, rows: new Map<T, VNode>() });
  if (made.current.version !== version || made.current.height !== height) made.current = { version, height, rows: new Map() };
  const look = () => {
    const b = box.current;
    if (!b) return;
    const from = Math.max(0, Math.floor(b.scrollTop / height / STEP) * STEP - beyond.current);
    const to = from + Math.ceil(b.clientHeight / height) + STEP + 2 * beyond.current;
    setView((was) => (was.from === from && was.to === to ? was : { from, to }));
    if (onEnd && beyond.current && to >= items.length) onEnd();
  };
  const looks = useRef(look);
  looks.current = look;
  useLayoutEffect(() => { if (beyond.current || box.current!.scrollTop) look(); }, [items.length, height]);
  useEffect(() => { // it has been drawn
    beyond.current = BEYOND;
    const watch = new ResizeObserver(() => looks.current()); // tells of its size at once
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const b = box.current;
    if (!b || selected < 0) return;
    const top = selected * height;
    if (top < b.scrollTop) b.scrollTop = top;
    else if (top + height > b.scrollTop + b.clientHeight) b.scrollTop = top + height - b.clientHeight;
  }, [selected]);
  const shown = items.slice(view.from, view.to);
  const rows = new Map<T, VNode>(); // an element that is the same is not compared again
  shown.forEach((item, i) => rows.set(item, made.current.rows.get(item) ??
    <div key={id(item)} class="row-slot" role="listitem" style={{ height: `${height}px` }}>{row(item, view.from + i)}</div>));
  made.current.rows = rows;
  return (
    <div class="rows" ref={box} onScroll={look} role="list" aria-label={label} tabIndex={plain ? 0 : -1}>
      <div class="rows-all" style={{ height: `${items.length * height}px` }}>
        <div class="rows-shown" style={{ transform: `translateY(${view.from * height}px)` }}>
          {[...rows.values()]}
        </div>
      </div>
    </div>
  );
}
