// Nothing moves under a press: what arrives between the press of a control and its release is rendered afterwards, so that
// the release meets the same control, and is a click.
import { options } from "preact";

const PRESSED = "a[href], button, summary, label, input:not([type=range])"; // whose release does something
const GESTURE_MS = 60; // a touch's click comes a little after its release

let pressed = false;
let ending = 0;
let held: (() => void)[] = [];

/** At once; while a control is pressed, after its release. */
export function afterPress(fn: () => void): void {
  if (pressed) held.push(fn);
  else fn();
}

function release(): void {
  clearTimeout(ending);
  if (!pressed) return;
  pressed = false;
  const all = held;
  held = [];
  for (const fn of all) fn();
}

export function holdWhilePressed(): void {
  options.debounceRendering = (render) => (pressed ? void held.push(render) : queueMicrotask(render));
  addEventListener("pointerdown", (e) => {
    release();
    // A list of choices opens when it is pressed, and its release is not told.
    pressed = e.button === 0 && e.target instanceof Element && e.target.closest(PRESSED) !== null && !e.target.closest("select");
  }, true);
  addEventListener("click", release); // all that it does was done; a key may come at once
  // The click comes after the release; with a mouse in the same task. There may be none.
  addEventListener("pointerup", (e) => { ending = window.setTimeout(release, e.pointerType === "mouse" ? 0 : GESTURE_MS); }, true);
  addEventListener("pointermove", (e) => { if (!e.buttons && e.pointerType === "mouse") release(); }, true); // it was released elsewhere
  for (const end of ["pointercancel", "dragstart", "keydown"]) addEventListener(end, release, true);
  addEventListener("blur", release); // of the window
}
