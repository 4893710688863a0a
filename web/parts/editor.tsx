// An editor of code: a text area until the real one has been loaded, which takes its text over.
import { useEffect, useRef, useState } from "preact/hooks";
import { writing } from "../core/focus";
import { getDeclared, type Mark } from "../core/code";
import { partOf } from "../core/part";
import { t } from "../core/texts";
import type { Editor as Made } from "./codemirror";
import { Failure } from "./parts";

const getEditor = partOf(() => import("./codemirror"));

/** What the editor begins with: another object, and it begins anew. What is typed comes by onChange alone, so that no
 * keystroke is overtaken by the rendering of an older one. */
export interface Beginning { readonly text: string }
interface EditorProps { from: Beginning; text: string; label: string; marks: Mark[]; onChange: (text: string) => void; onRun: (shift: boolean) => void }
interface LoadedProps extends Omit<EditorProps, "marks"> { markdown?: boolean; onMade?: (editor: Made) => void }

/** `onMade` is told of the editor, once it is there; where it fails to load, the text area is used further. */
function Loaded({ from, text, label, markdown = false, onChange, onRun, onMade }: LoadedProps) {
  const host = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const made = useRef<Made | null>(null);
  const latest = useRef({ text, onChange, onRun });
  latest.current = { text, onChange, onRun };
  const over = useRef(false);
  const [state, setState] = useState<"loading" | "ready" | "failed">("loading");
  const load = () => void getEditor().then(({ makeEditor }) => {
    if (over.current || made.current || !host.current) return;
    const typing = area.current === document.activeElement; // in the text area that it takes the place of
    made.current = makeEditor(host.current, {
      text: latest.current.text, at: typing ? area.current?.selectionStart : 0, label, markdown,
      onChange: (now) => latest.current.onChange(now), onRun: (shift) => latest.current.onRun(shift),
    });
    if (typing || (markdown && !writing())) made.current.focus();
    setState("ready");
    onMade?.(made.current);
  }, () => setState("failed"));
  useEffect(() => {
    load();
    return () => { over.current = true; made.current?.end(); made.current = null; };
  }, []);
  useEffect(() => made.current?.set(from.text), [from]);
  return (
    <div class="editor">
      <div class="editor-host" ref={host} />
      {state === "failed" && <Failure text={t.notLoaded} retry={load} />}
      {state !== "ready" && <textarea ref={area} aria-label={label} value={text} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)}
        onKeyDown={(e) => { if ((e.ctrlKey || e.metaKey) && (e.key === "Enter" || e.key === "s")) { e.preventDefault(); onRun(e.key === "Enter" && e.shiftKey); } }} />}
    </div>
  );
}

export function CodeEditor({ marks, ...props }: EditorProps) {
  const [made, setMade] = useState<Made | null>(null);
  useEffect(() => made?.mark(marks), [marks, made]);
  return <Loaded {...props} onMade={(editor) => { setMade(editor); void getDeclared().then((all) => editor.declare(all), () => {}); }} />;
}

/** The same for a note's text; `onSave`: Ctrl-S, or Ctrl-Enter. */
export function NoteEditor({ from, label, onChange, onSave }: { from: Beginning; label: string; onChange: (text: string) => void; onSave: () => void }) {
  const [text, setText] = useState(from.text);
  useEffect(() => setText(from.text), [from]);
  return <Loaded markdown from={from} text={text} label={label} onChange={(now) => { setText(now); onChange(now); }} onRun={onSave} />;
}
