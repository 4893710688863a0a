// Keys: a view says what each does while it is shown. While one is typing that is Escape and those with Ctrl alone.
import { useLayoutEffect, useRef } from "preact/hooks";

type Keys = Record<string, (event: KeyboardEvent) => void>;
const layers: { current: Keys }[] = [];
const HELD = new Set(["j", "k", "ArrowDown", "ArrowUp"]); // go on while they are held
let prefix = "";

/** Also in an editor, whose shadow tree hides what has the focus. */
const isTyping = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Enter and Space are the control's own. */
const isPressed = (event: KeyboardEvent): boolean => (event.key === "Enter" || event.key === " ") && !event.ctrlKey && !event.metaKey &&
  event.target instanceof Element && event.target.closest("a, button, summary") !== null;

addEventListener("keydown", (event) => {
  const chord = (event.ctrlKey || event.metaKey ? "ctrl " : "") + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
  if (isTyping(event.composedPath()[0]) && event.key !== "Escape" && chord !== "ctrl k" && (!chord.startsWith("ctrl ") || event.defaultPrevented)) return;
  if (event.altKey || isPressed(event)) return;
  const word = prefix ? `${prefix} ${chord}` : chord;
  prefix = "";
  for (let i = layers.length - 1; i >= 0; i--) {
    const deed = layers[i].current[word];
    if (!deed) continue;
    event.preventDefault();
    if (!event.repeat || HELD.has(word)) deed(event);
    return;
  }
  if (chord === "g") prefix = "g";
});

export function useKeys(keys: Keys): void {
  const layer = useRef({ current: keys }).current;
  layer.current = keys; // as soon as it is rendered: the next key may be quick
  useLayoutEffect(() => {
    layers.push(layer);
    return () => { layers.splice(layers.indexOf(layer), 1); };
  }, []);
}
