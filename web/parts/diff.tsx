// Differences as one reads them in a review: lines with their numbers, words marked within
// lines, what is equal folded. Long ones are shown in portions: an agent writes them, and they must not keep the person
// from what it did.
import { diffWordsWithSpace } from "diff";
import { useMemo, useState } from "preact/hooks";
import { changesOf } from "../core/lines";
import { t } from "../core/texts";
import { spell } from "./parts";

interface Part { text: string; marked: boolean }
interface Line { kind: "same" | "old" | "new" | "fold" | "head"; old?: number; new?: number; text: string; pair?: Pair; hidden?: Line[] }
/** Two lines of which one takes the other's place; their words are compared when they are shown. */
interface Pair { old: string; new: string; parts?: { old: Part[]; new: Part[] } }
const AROUND = 3;
const PORTION = 400; // lines that are shown before more is asked for
const MORE = 2_000; // and so many more each time
const PIECE = 100; // lines: of longer parts, what is old and what is new are shown by turns
const EDITS_MAX = 200; // words, within a line

const plain = (text: string): Part[] => [{ text, marked: false }];
/** Its lines with their ends, so that a last line without one differs. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const cut = (line: string): string => (line.endsWith("\n") ? line.slice(0, -1) : line);

/** Words are marked where two lines are alike enough for that to help. */
function markWords({ old: a, new: b }: Pair): { old: Part[]; new: Part[] } {
  const parts = a.length + b.length > 4000 ? undefined : diffWordsWithSpace(a, b, { maxEditLength: EDITS_MAX });
  const same = parts?.reduce((n, p) => n + (p.added || p.removed ? 0 : p.value.length), 0) ?? 0;
  if (!parts || same * 3 < Math.max(a.length, b.length)) return { old: plain(a), new: plain(b) };
  const side = (skip: "added" | "removed") =>
    parts.filter((p) => !p[skip]).map((p) => ({ text: p.value, marked: Boolean(p.added || p.removed) }));
  return { old: side("added"), new: side("removed") };
}
function partsOf({ kind, text, pair }: Line): Part[] {
  if (!pair || (kind !== "old" && kind !== "new")) return plain(text);
  return (pair.parts ??= markWords(pair))[kind];
}

function* replace(olds: string[], news: string[], at: { old: number; new: number }): Generator<Line> {
  const pairs = olds.length === news.length ? olds.map((line, i): Pair => ({ old: line, new: news[i] })) : null;
  const piece = olds.length && news.length ? PIECE : Infinity;
  for (let from = 0; from < Math.max(olds.length, news.length); from += piece) {
    for (let i = from; i < Math.min(from + piece, olds.length); i++) yield { kind: "old", old: at.old++, text: olds[i], pair: pairs?.[i] };
    for (let i = from; i < Math.min(from + piece, news.length); i++) yield { kind: "new", new: at.new++, text: news[i], pair: pairs?.[i] };
  }
}

function* compare(before: string, after: string): Generator<Line> {
  const at = { old: 1, new: 1 };
  let olds: string[] = [];
  for (const { kind, lines } of [...changesOf(linesOf(before), linesOf(after)), { kind: "same", lines: [] }]) {
    const cuts = lines.map(cut);
    if (kind === "old") { olds = cuts; continue; }
    yield* replace(olds, kind === "new" ? cuts : [], at);
    olds = [];
    if (kind === "same") for (const text of cuts) yield { kind, old: at.old++, new: at.new++, text };
  }
}

/** Lines of a unified diff, as the server tells what would change. */
function* readUnified(lines: readonly string[]): Generator<Line> {
  let olds: string[] = [];
  let news: string[] = [];
  const at = { old: 0, new: 0 };
  let numbered = false;
  function* flush(): Generator<Line> {
    for (const line of replace(olds, news, at)) yield numbered ? line : { ...line, old: undefined, new: undefined };
    olds = [];
    news = [];
  }
  for (const line of lines) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) {
      yield* flush();
      numbered = true;
      at.old = Number(hunk[1]);
      at.new = Number(hunk[2]);
    } else if (line.startsWith("-") && !line.startsWith("--- ")) olds.push(line.slice(1));
    else if (line.startsWith("+") && !line.startsWith("+++ ")) news.push(line.slice(1));
    else {
      yield* flush();
      if (line.startsWith(" ")) yield { kind: "same", old: at.old++, new: at.new++, text: line.slice(1) };
      else yield { kind: "head", text: line.replace(/; (?:id [^;]*; )?sha256:[0-9a-f]{64}/, "") };
    }
  }
  yield* flush();
}

function fold(lines: Line[]): Line[] {
  const out: Line[] = [];
  let hidden: Line[] = [];
  const flush = () => {
    if (hidden.length > 1) out.push({ kind: "fold", text: "", hidden });
    else if (hidden.length) out.push(hidden[0]);
    hidden = [];
  };
  let last = -Infinity; // the changed lines before and after a line
  let next = 0;
  lines.forEach((line, i) => {
    if (line.kind !== "same") last = i;
    while (next < lines.length && (next < i || lines[next].kind === "same")) next++;
    if (i - last <= AROUND || (next < lines.length && next - i <= AROUND)) {
      flush();
      out.push(line);
    } else hidden.push(line);
  });
  flush();
  return out;
}

const SIGN = { same: " ", old: "−", new: "+", head: "", fold: "" };

function Table({ lines }: { lines: Line[] }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [shown, setShown] = useState({ of: lines, most: PORTION });
  const all = useMemo(() => (open.size ? lines.flatMap((line, i) => (line.hidden && open.has(i) ? line.hidden : [line])) : lines), [lines, open]);
  if (!lines.some((l) => l.kind !== "same" && l.kind !== "fold")) return <p class="quiet pad">{t.diff.none}</p>;
  const most = shown.of === lines ? shown.most : PORTION;
  return (
    <div class="diff" role="table" aria-label={t.diff.label} tabIndex={0}>
      {all.slice(0, most).map((line, i) => line.kind === "fold" ? (
        <div role="row" key={i}><span role="cell"><button type="button" class="diff-fold" onClick={() => setOpen(new Set([...open, lines.indexOf(line)]))}>
          {t.diff.more(line.hidden!.length)}
        </button></span></div>
      ) : (
        <div class={`diff-line ${line.kind}`} role="row" key={i}>
          <span class="diff-number" aria-hidden="true">{line.old ?? ""}</span>
          <span class="diff-number" aria-hidden="true">{line.new ?? ""}</span>
          <span class="diff-sign" role="cell">{SIGN[line.kind]}</span>
          <span class="diff-text" role="cell">{partsOf(line).map((p, k) => (p.marked ? <mark key={k}>{spell(p.text)}</mark> : spell(p.text)))}</span>
        </div>
      ))}
      {all.length > most && <div role="row"><span role="cell"><button type="button" class="diff-fold" onClick={() => setShown({ of: lines, most: most + MORE })}>{t.diff.rest(all.length - most)}</button></span></div>}
    </div>
  );
}

export function Diff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => fold([...compare(before, after)]), [before, after]);
  return <Table lines={lines} />;
}
export function Unified({ lines }: { lines: readonly string[] }) {
  const read = useMemo(() => [...readUnified(lines)], [lines.join("\n")]);
  return <Table lines={read} />;
}
