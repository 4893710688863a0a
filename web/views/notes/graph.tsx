// The notes as a graph of their links, drawn on a canvas. The layout is made in steps of a few milliseconds, so that
// nothing else on the page waits for it.
import { useEffect, useRef, useState } from "preact/hooks";
import { useNewest } from "../../core/newest";
import { getGraph, noteHref, type Graph as Found } from "../../core/notes";
import { go } from "../../core/router";
import { wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { Empty, Failure, Skeleton, spell } from "../../parts/parts";
import { layOut, type Layout } from "./layout";

const STEP_MS = 8; // of computing before others have their turn
const PICTURE_MS = 160; // between pictures while it is laid out
const NAMED = 60; // notes that are named from afar, where there is room
const NEAR_PX = 12;
const NAME_PX = 14;

interface Eye { x: number; y: number; scale: number }

/** What is out of sight is not drawn. `wanted`: the notes that are searched for. */
function draw(canvas: HTMLCanvasElement, layout: Layout, graph: Found, eye: Eye, hover: number, wanted: ReadonlySet<number>): void {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: wide, clientHeight: high } = canvas;
  if (canvas.width !== wide * ratio || canvas.height !== high * ratio) { canvas.width = wide * ratio; canvas.height = high * ratio; }
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const style = getComputedStyle(canvas);
  // Of the canvas's own properties, since those have been worked out for the theme.
  const [line, dot, accent, text] = [style.borderTopColor, style.color, style.caretColor, style.textDecorationColor];
  const { x, y, degree, from, to } = layout;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, wide, high);
  const px = (i: number): number => (x[i] - eye.x) * eye.scale + wide / 2;
  const py = (i: number): number => (y[i] - eye.y) * eye.scale + high / 2;
  pen.strokeStyle = line;
  pen.lineWidth = 0.7;
  pen.beginPath();
  for (let i = 0; i < from.length; i++) {
    const [ax, ay, bx, by] = [px(from[i]), py(from[i]), px(to[i]), py(to[i])];
    if ((ax < 0 && bx < 0) || (ax > wide && bx > wide) || (ay < 0 && by < 0) || (ay > high && by > high)) continue;
    pen.moveTo(ax, ay);
    pen.lineTo(bx, by);
  }
  pen.stroke();
  const chosen = (i: number): boolean => i === hover || wanted.has(i);
  const size = (i: number): number => Math.min(2 + Math.sqrt(degree[i]) * 0.8, 9) * Math.min(Math.max(eye.scale, 0.3), 1.6);
  for (const isChosen of [false, true]) {
    pen.fillStyle = isChosen ? accent : dot;
    pen.beginPath();
    for (let i = 0; i < x.length; i++) {
      const [ax, ay, r] = [px(i), py(i), size(i)];
      if (ax < -r || ax > wide + r || ay < -r || ay > high + r || chosen(i) !== isChosen) continue;
      pen.moveTo(ax + r, ay);
      pen.arc(ax, ay, r, 0, 7);
    }
    pen.fill();
  }
  if (hover >= 0) {
    pen.strokeStyle = accent;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (let i = 0; i < from.length; i++) if (from[i] === hover || to[i] === hover) { pen.moveTo(px(from[i]), py(from[i])); pen.lineTo(px(to[i]), py(to[i])); }
    pen.stroke();
  }
  pen.fillStyle = text;
  pen.font = `12px ${style.fontFamily}`;
  pen.textAlign = "center";
  pen.strokeStyle = style.backgroundColor; // behind the letters
  pen.lineWidth = 3;
  const named = eye.scale > 1.8 ? layout.byDegree.filter((i) => px(i) > 0 && px(i) < wide && py(i) > 0 && py(i) < high).slice(0, 80) : layout.byDegree.slice(0, NAMED);
  const taken: { x: number; y: number; half: number }[] = []; // by names: another one that would cover them is left out
  for (const i of new Set([...(hover >= 0 ? [hover] : []), ...named])) {
    const said = spell(graph.ids[i].split("/").at(-1)!).slice(0, 40);
    const half = pen.measureText(said).width / 2 + 3, centre = px(i);
    // Of a dot that is in sight the whole name is, too.
    const one = { x: centre >= 0 && centre <= wide ? Math.max(half, Math.min(wide - half, centre)) : centre, y: py(i) - size(i) - 4, half };
    if (taken.some((o) => Math.abs(o.y - one.y) < NAME_PX && Math.abs(o.x - one.x) < o.half + one.half)) continue;
    taken.push(one);
    pen.strokeText(said, one.x, one.y);
    pen.fillText(said, one.x, one.y);
  }
}

/** From where all notes are seen. */
function eyeFor(box: HTMLCanvasElement, { x, y }: Layout): Eye {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    left = Math.min(left, x[i]); right = Math.max(right, x[i]);
    top = Math.min(top, y[i]); bottom = Math.max(bottom, y[i]);
  }
  const scale = Math.min(box.clientWidth / (right - left + 1), box.clientHeight / (bottom - top + 1)) * 0.9;
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.min(scale, 3) };
}

export function Graph({ vault, changes, words }: { vault: string; changes: number; words: string }) {
  const [found, setFound] = useState<Found | null>(null);
  const [failed, setFailed] = useState("");
  const canvas = useRef<HTMLCanvasElement>(null);
  const eye = useRef<Eye>({ x: 0, y: 0, scale: 1 });
  const layout = useRef<Layout | null>(null);
  const hover = useRef(-1);
  const wanted = useRef<ReadonlySet<number>>(new Set());
  const [name, setName] = useState("");
  const paint = useRef((_moved: boolean) => {});
  const newest = useNewest([vault]);
  const look = () => void newest(() => getGraph(vault), (g) => { setFound(g); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(look, [vault, changes]);
  useEffect(() => {
    const box = canvas.current;
    if (!found || !box || !found.ids.length) return;
    const made = layOut(found.ids.length, found.pairs);
    layout.current = made;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let frame = 0;
    const fit = () => { eye.current = eyeFor(box, made); };
    let moved = false;
    let drawn = 0;
    const picture = () => draw(box, made, found, eye.current, hover.current, wanted.current);
    // One picture a frame, however many events there were.
    paint.current = (isMoved) => {
      moved ||= isMoved;
      frame ||= requestAnimationFrame(() => { frame = 0; picture(); });
    };
    const step = () => {
      const until = performance.now() + STEP_MS;
      let goes = true;
      while (goes && performance.now() < until) goes = made.step();
      if (!goes || (!calm && performance.now() - drawn > PICTURE_MS)) {
        if (!moved) fit();
        picture();
        drawn = performance.now();
      }
      frame = goes ? requestAnimationFrame(step) : 0;
    };
    frame = requestAnimationFrame(step);
    const again = () => {
      if (frame) return;
      if (!moved) fit();
      picture();
    };
    const resized = new ResizeObserver(again);
    resized.observe(box);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", again);
    return () => { cancelAnimationFrame(frame); resized.disconnect(); theme.removeEventListener("change", again); };
  }, [found]);
  useEffect(() => {
    const asked = words.toLowerCase();
    wanted.current = new Set(asked && found ? found.ids.flatMap((id, i) => (id.toLowerCase().includes(asked) ? [i] : [])) : []);
    paint.current(false);
  }, [found, words]);
  const nearest = (event: PointerEvent | MouseEvent): number => {
    const box = canvas.current!;
    const made = layout.current;
    if (!made) return -1;
    const area = box.getBoundingClientRect();
    const at = { x: (event.clientX - area.left - area.width / 2) / eye.current.scale + eye.current.x, y: (event.clientY - area.top - area.height / 2) / eye.current.scale + eye.current.y };
    let best = -1;
    let far = (NEAR_PX / eye.current.scale) ** 2;
    for (let i = 0; i < made.x.length; i++) {
      const d = (made.x[i] - at.x) ** 2 + (made.y[i] - at.y) ** 2;
      if (d < far) { far = d; best = i; }
    }
    return best;
  };
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const move = (event: PointerEvent) => {
    if (drag.current) {
      const [dx, dy] = [event.clientX - drag.current.x, event.clientY - drag.current.y];
      if (Math.abs(dx) + Math.abs(dy) > 3) drag.current.moved = true;
      eye.current.x -= dx / eye.current.scale;
      eye.current.y -= dy / eye.current.scale;
      drag.current = { ...drag.current, x: event.clientX, y: event.clientY };
      paint.current(true);
      return;
    }
    const one = nearest(event);
    if (one === hover.current) return;
    hover.current = one;
    setName(one < 0 ? "" : found!.ids[one]);
    paint.current(false);
  };
  const zoom = (by: number) => { eye.current.scale = Math.min(Math.max(eye.current.scale * by, 0.02), 20); paint.current(true); };
  const pan = (x: number, y: number) => { eye.current.x += x / eye.current.scale; eye.current.y += y / eye.current.scale; paint.current(true); };
  const onKey = (e: KeyboardEvent) => {
    const deeds: Record<string, () => void> = { "+": () => zoom(1.3), "-": () => zoom(1 / 1.3), ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60) };
    if (!deeds[e.key]) return;
    e.preventDefault();
    deeds[e.key]();
  };
  if (failed) return <Failure text={failed} retry={look} />;
  if (!found) return <Skeleton lines={6} />;
  if (!found.ids.length) return <Empty icon="notes" title={t.notesView.none} />;
  return (
    <section class="graph" aria-label={t.notesView.graph}>
      <header><h2>{t.notesView.graph}</h2><span class="quiet" role="status">{name ? spell(name) : t.notesView.graphOf(found.ids.length, found.links)}</span>
        <button type="button" aria-label={t.notesView.closer} onClick={() => zoom(1.3)}>+</button><button type="button" aria-label={t.notesView.farther} onClick={() => zoom(1 / 1.3)}>−</button></header>
      <canvas ref={canvas} role="img" tabIndex={0} aria-label={t.notesView.graphOf(found.ids.length, found.links)} onKeyDown={onKey}
        onPointerDown={(e) => { drag.current = { x: e.clientX, y: e.clientY, moved: false }; e.currentTarget.setPointerCapture(e.pointerId); }} onPointerMove={move}
        onPointerUp={(e) => { const was = drag.current; drag.current = null; const one = was?.moved ? -1 : nearest(e); if (one >= 0) go(noteHref(found.ids[one])); }}
        onWheel={(e) => { e.preventDefault(); zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15); }} />
    </section>
  );
}
