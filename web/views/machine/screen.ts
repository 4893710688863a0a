// The terminal emulator, xterm.js, under this page's Content-Security-Policy; loaded when a terminal is opened.
import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";

/** What has the text of a style element is an adopted style sheet: the policy forbids such elements. */
function styleElement(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  element.hidden = true;
  Object.defineProperty(element, "textContent", { get: () => "", set: (text: string) => sheet.replaceSync(text) });
  element.remove = () => {
    HTMLElement.prototype.remove.call(element);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
  };
  document.adoptedStyleSheets.push(sheet);
  return element;
}

/** Makes both here and now what it asks the document for, which has no option for it. */
function makeCareful(): void {
  const create = document.createElement.bind(document), set = Element.prototype.setAttribute;
  document.createElement = ((name: string, options?: ElementCreationOptions) => (name === "style" ? styleElement(create("span")) : create(name, options))) as typeof document.createElement;
  Element.prototype.setAttribute = function (key: string, value: string): void {
    if (key === "style" && this instanceof HTMLElement) this.style.cssText = value; // which the policy allows to scripts
    else set.call(this, key, value);
  };
}
makeCareful();

export interface Screen {
  rows: number; columns: number;
  write: (what: string | Uint8Array) => void;
  fit: () => void;
  focus: () => void;
  reader: (on: boolean) => void; // the text is there for a screen reader, too
  end: () => void;
}

/** A colour of the page as it is now, as rgb(). */
function colour(at: HTMLElement, name: string): string {
  at.style.color = `var(${name})`;
  const now = getComputedStyle(at).color;
  at.style.color = "";
  return now;
}

const themeOf = (at: HTMLElement): ITheme => ({
  foreground: colour(at, "--text"), background: colour(at, "--panel"), cursor: colour(at, "--accent"), cursorAccent: colour(at, "--panel"),
  selectionBackground: colour(at, "--accent").replace(/^rgb\((.*)\)$/, "rgba($1, 0.3)"),
});

/** Opens one in the element, with the page's colours. Tab is the program's own: Shift-Escape leaves it. */
export function openScreen(at: HTMLElement, label: string, typed: (text: string) => void, bytes: (bytes: string) => void, sized: (rows: number, columns: number) => void, left: () => void): Screen {
  const terminal = new Terminal({
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches, scrollback: 5000, fontSize: 13,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono") || "monospace", theme: themeOf(at), minimumContrastRatio: 4.5,
  });
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  terminal.open(at);
  terminal.textarea?.setAttribute("aria-label", label);
  terminal.attachCustomKeyEventHandler((e) => {
    if (e.key !== "Escape" || !e.shiftKey) return true;
    if (e.type === "keydown") left();
    return false;
  });
  terminal.onData(typed);
  terminal.onBinary(bytes);
  terminal.onResize(({ rows, cols }) => sized(rows, cols));
  fitting.fit();
  // What is out of sight is fitted when it is seen again: until then xterm.js draws nothing, and takes no other size.
  let isSeen = true;
  const fit = () => {
    if (!isSeen) return;
    const { viewportY, baseY } = terminal.buffer.active;
    fitting.fit();
    if (viewportY >= baseY) requestAnimationFrame(() => terminal.scrollToBottom());
  };
  const eye = new IntersectionObserver((all) => { isSeen = all[all.length - 1].isIntersecting; fit(); });
  eye.observe(at);
  const repaint = () => { terminal.options.theme = themeOf(at); };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new MutationObserver(repaint);
  dark.addEventListener("change", repaint);
  chosen.observe(document.documentElement, { attributes: true });
  return {
    get rows() { return terminal.rows; }, get columns() { return terminal.cols; },
    write: (what) => terminal.write(what), fit, focus: () => terminal.focus(), reader: (on) => { terminal.options.screenReaderMode = on; }, end: () => {
      dark.removeEventListener("change", repaint);
      chosen.disconnect();
      eye.disconnect();
      terminal.dispose();
    },
  };
}
