// The editor: CodeMirror in a shadow root, where its style needs no exception of the
// Content-Security-Policy. Loaded when an editor is first shown.
import { autocompletion, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { markdown } from "@codemirror/lang-markdown";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Declared, Mark } from "../core/code";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.modifier], color: "var(--accent)" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--warn)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--bad)" },
  { tag: [tags.comment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.heading], color: "var(--text)", fontWeight: "600" }, { tag: [tags.strong], fontWeight: "600" }, { tag: [tags.emphasis], fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  { tag: [tags.typeName, tags.className], color: "var(--strange)" },
]);
const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", color: "var(--text)", borderRadius: "8px", maxWidth: "560px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-declared": { padding: "8px 12px", font: "12px/1.5 var(--mono)", whiteSpace: "pre-wrap" },
  // Those of the package are images in the style, which the Content-Security-Policy forbids.
  ".cm-lintRange": { backgroundImage: "none", paddingBottom: "0" },
  ".cm-lintRange-error, .cm-lintRange-warning, .cm-lintRange-hint, .cm-lintRange-info, .cm-lintRange-active": { backgroundImage: "none" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning, .cm-lintRange-hint": { textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "3px" },
  ".cm-lint-marker": { width: "8px", height: "8px", borderRadius: "50%", marginTop: "6px", backgroundColor: "var(--warn)" },
  ".cm-lint-marker-error, .cm-lint-marker-warning, .cm-lint-marker-info, .cm-lint-marker-hint": { content: "none" },
  ".cm-lint-marker-error": { backgroundColor: "var(--bad)" },
  ".cm-highlightTab": { backgroundImage: "none" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" }, ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
});

/** Text that replaces a selection: left to Chromium, it gets the style of what it replaces by a style attribute, which
 * the Content-Security-Policy forbids. */
const replaces = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.data === null || event.isComposing || !event.cancelable || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

export interface Editor { text: () => string; set: (text: string) => void; mark: (marks: Mark[]) => void; declare: (all: Declared[]) => void; focus: () => void; end: () => void }
export interface EditorOptions { text: string; at?: number; /* where the cursor is */ label: string; onChange: (text: string) => void; onRun: (shift: boolean) => void; markdown?: boolean }

const PARSED_MAX = 500_000; // characters of Markdown, and of one paragraph of it: the parser's time grows with its square
const PARAGRAPH_MAX = 100_000;

function isLong(doc: Text): boolean {
  if (doc.length > PARSED_MAX) return true;
  let paragraph = 0;
  for (const line of doc.iterLines()) {
    paragraph = line.trim() ? paragraph + line.length : 0;
    if (paragraph > PARAGRAPH_MAX) return true;
  }
  return false;
}

/** Markdown, as long as its text is not too long for its parser: then it is plain text, before the parser sees it. */
function markdownWithin(text: string) {
  const language = new Compartment();
  let on = !isLong(Text.of(text.split(/\r\n?|\n/)));
  const leave = EditorState.transactionExtender.of((change) => {
    if (!on || !change.docChanged || !isLong(change.newDoc)) return null;
    on = false;
    return { effects: language.reconfigure([]) };
  });
  return [language.of(on ? markdown() : []), leave];
}

/** The dotted name around a place, and where it begins. */
function nameAt(view: EditorView, at: number): { name: string; from: number; to: number } | null {
  const line = view.state.doc.lineAt(at);
  const isPart = (c: string) => /[\w$.]/.test(c);
  let from = at - line.from;
  let to = from;
  while (from > 0 && isPart(line.text[from - 1])) from--;
  while (to < line.text.length && /[\w$]/.test(line.text[to])) to++;
  return from === to ? null : { name: line.text.slice(from, to), from: line.from + from, to: line.from + to };
}

export function makeEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  let declared: Declared[] = [];
  const complete = (context: CompletionContext): CompletionResult | null => {
    if (/String|Comment|Regexp/.test(syntaxTree(context.state).resolveInner(context.pos, -1).name)) return null;
    const word = context.matchBefore(/[\w$.]+/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const dot = word.text.lastIndexOf(".");
    const space = dot < 0 ? "" : word.text.slice(0, dot);
    const found: Completion[] = declared.filter((d) => d.space === space)
      .map((d) => ({ label: d.name, type: d.kind, detail: d.detail.slice(0, 80), info: d.about || undefined }));
    return found.length ? { from: word.from + dot + 1, options: found, validFor: /^[\w$]*$/ } : null;
  };
  const hover = hoverTooltip((view, at) => {
    const word = nameAt(view, at);
    const one = word && declared.find((d) => (d.space ? `${d.space}.${d.name}` : d.name) === word.name);
    if (!one) return null;
    return { pos: word.from, end: word.to, above: true, create: () => {
      const dom = document.createElement("div");
      dom.className = "cm-declared";
      dom.textContent = `${word.name}${one.detail}${one.about ? `\n${one.about}` : ""}`;
      return { dom };
    } };
  });
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({
      doc: options.text, selection: { anchor: Math.min(options.at ?? 0, options.text.length) },
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), history(), drawSelection(), indentOnInput(), indentUnit.of("  "), bracketMatching(),
        highlightActiveLine(), highlightSelectionMatches(), syntaxHighlighting(colours), look,
        options.markdown ? [markdownWithin(options.text), EditorView.lineWrapping] : [lintGutter(), hover, autocompletion({ override: [complete] }), javascript({ typescript: true })],
        keymap.of([{ key: "Mod-Enter", run: () => { options.onRun(false); return true; }, shift: () => { options.onRun(true); return true; } },
          { key: "Mod-s", run: () => { options.onRun(false); return true; }, preventDefault: true }, ...completionKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": options.label }),
        replaces,
        EditorView.updateListener.of((u) => { if (u.docChanged) options.onChange(u.state.doc.toString()); }),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0; // long lines are scrolled by keys, too
  const place = (line: number, column: number): number => {
    if (line < 1 || line > view.state.doc.lines) return 0;
    const one = view.state.doc.line(line);
    return Math.min(one.from + Math.max(column - 1, 0), one.to);
  };
  return {
    text: () => view.state.doc.toString(),
    set: (text) => { if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }); },
    mark: (marks) => {
      const all: Diagnostic[] = marks.map((m) => {
        const from = place(m.line, m.column);
        return { from, to: Math.max(place(m.endLine ?? m.line, m.endColumn ?? m.column + 1), from), severity: m.severity === "hint" || m.severity === "warning" ? m.severity : "error",
          message: m.suggestion ? `${m.message}. ${m.suggestion}` : m.message };
      });
      view.dispatch(setDiagnostics(view.state, all));
    },
    declare: (all) => { declared = all; },
    focus: () => view.focus(),
    end: () => view.destroy(),
  };
}
