// An editor of code: a text area until the real one has been loaded, which takes its text over.
import { useEffect, useRef, useState } from "preact/hooks";
import { writing } from "../core/focus";
import { getDeclared, type Mark } from "../core/code";
import type { Editor as Made } from "./codemirror";

/** What the editor begins with: another object, and it begins anew. What is typed comes by onChange alone, so that no
 * keystroke is overtaken by the rendering of an older one. */
export interface Beginning { readonly text: string }
interface EditorProps { from: Beginning; text: string; label: string; marks: Mark[]; onChange: (text: string) => void; onRun: (shift: boolean) => void }

export function CodeEditor({ from, text, label, marks, onChange, onRun }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const made = useRef<Made | null>(null);
  const latest = useRef({ text, onChange, onRun });
  latest.current = { text, onChange, onRun };
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let over = false;
    void import("./codemirror").then(({ makeEditor }) => {
      if (over || !host.current) return;
      const typing = host.current.nextElementSibling === document.activeElement; // in the text area that it takes the place of
      made.current = makeEditor(host.current, { text: latest.current.text, label, onChange: (now) => latest.current.onChange(now), onRun: (shift) => latest.current.onRun(shift) });
      if (typing) made.current.focus();
      setReady(true);
      void getDeclared().then((all) => made.current?.declare(all), () => {});
    });
    return () => { over = true; made.current?.end(); made.current = null; };
  }, []);
  useEffect(() => made.current?.set(from.text), [from]);
  useEffect(() => made.current?.mark(marks), [marks, ready]);
  return (
    <div class="editor">
      <div class="editor-host" ref={host} />
      {!ready && <textarea aria-label={label} value={text} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />}
    </div>
  );
}

/** The same for a note's text; `onSave`: Ctrl-S, or Ctrl-Enter. */
export function NoteEditor({ from, label, onChange, onSave }: { from: Beginning; label: string; onChange: (text: string) => void; onSave: () => void }) {
  const host = useRef<HTMLDivElement>(null);
  const made = useRef<Made | null>(null);
  const latest = useRef({ from, onChange, onSave });
  latest.current = { from, onChange, onSave };
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let over = false;
    void import("./codemirror").then(({ makeEditor }) => {
      if (over || !host.current) return;
      made.current = makeEditor(host.current, { text: latest.current.from.text, label, markdown: true, onChange: (now) => latest.current.onChange(now), onRun: () => latest.current.onSave() });
      const own = host.current.nextElementSibling === document.activeElement;
      if (own || !writing()) made.current.focus();
      setReady(true);
    });
    return () => { over = true; made.current?.end(); made.current = null; };
  }, []);
  useEffect(() => made.current?.set(from.text), [from]);
  return <div class="editor"><div class="editor-host" ref={host} />{!ready && <textarea aria-label={label} value={from.text} readOnly />}</div>;
}
