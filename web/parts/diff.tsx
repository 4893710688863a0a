// Differences as one reads them in a review: lines with their numbers, words marked within
// lines, what is equal folded.
import { diffLines, diffWordsWithSpace } from "diff";
import { useMemo, useState } from "preact/hooks";
import { t } from "../core/texts";
import { spell } from "./parts";

interface Part { text: string; marked: boolean }
interface Line { kind: "same" | "old" | "new" | "fold" | "head"; old?: number; new?: number; parts: Part[]; hidden?: Line[] }
const AROUND = 3;

const plain = (text: string): Part[] => [{ text, marked: false }];
const cut = (text: string): string[] => {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

/** Words are marked where two lines are alike enough for that to help. */
function markWords(a: string, b: string): [Part[], Part[]] {
  if (a.length + b.length > 4000) return [plain(a), plain(b)];
  const parts = diffWordsWithSpace(a, b);
  const same = parts.reduce((n, p) => n + (p.added || p.removed ? 0 : p.value.length), 0);
  if (same * 3 < Math.max(a.length, b.length)) return [plain(a), plain(b)];
  const side = (skip: "added" | "removed") =>
    parts.filter((p) => !p[skip]).map((p) => ({ text: p.value, marked: Boolean(p.added || p.removed) }));
  return [side("added"), side("removed")];
}

function pair(olds: string[], news: string[], at: { old: number; new: number }): Line[] {
  const marked = olds.length === news.length ? olds.map((line, i) => markWords(line, news[i])) : null;
  return [
    ...olds.map((line, i): Line => ({ kind: "old", old: at.old++, parts: marked?.[i][0] ?? plain(line) })),
    ...news.map((line, i): Line => ({ kind: "new", new: at.new++, parts: marked?.[i][1] ?? plain(line) })),
  ];
}

function compare(before: string, after: string): Line[] {
  const at = { old: 1, new: 1 };
  const out: Line[] = [];
  const parts = diffLines(before, after);
  for (let i = 0; i < parts.length; i++) {
    const p = parts[i];
    if (p.removed && parts[i + 1]?.added) out.push(...pair(cut(p.value), cut(parts[++i].value), at));
    else if (p.removed) out.push(...pair(cut(p.value), [], at));
    else if (p.added) out.push(...pair([], cut(p.value), at));
    else out.push(...cut(p.value).map((line): Line => ({ kind: "same", old: at.old++, new: at.new++, parts: plain(line) })));
  }
  return out;
}

/** Lines of a unified diff, as the server tells what would change. */
function readUnified(lines: readonly string[]): Line[] {
  const out: Line[] = [];
  let olds: string[] = [];
  let news: string[] = [];
  const at = { old: 0, new: 0 };
  const flush = () => {
    out.push(...pair(olds, news, at).map((l) => (at.old || at.new ? l : { ...l, old: undefined, new: undefined })));
    olds = [];
    news = [];
  };
  for (const line of lines) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) {
      flush();
      at.old = Number(hunk[1]);
      at.new = Number(hunk[2]);
    } else if (line.startsWith("-") && !line.startsWith("--- ")) olds.push(line.slice(1));
    else if (line.startsWith("+") && !line.startsWith("+++ ")) news.push(line.slice(1));
    else {
      flush();
      if (line.startsWith(" ")) out.push({ kind: "same", old: at.old++, new: at.new++, parts: plain(line.slice(1)) });
      else out.push({ kind: "head", parts: plain(line.replace(/; (?:id [^;]*; )?sha256:[0-9a-f]{64}/, "")) });
    }
  }
  flush();
  return out;
}

function fold(lines: Line[]): Line[] {
  const near = new Set<number>();
  lines.forEach((line, i) => {
    if (line.kind !== "same") for (let k = i - AROUND; k <= i + AROUND; k++) near.add(k);
  });
  const out: Line[] = [];
  let hidden: Line[] = [];
  const flush = () => {
    if (hidden.length > 1) out.push({ kind: "fold", parts: [], hidden });
    else out.push(...hidden);
    hidden = [];
  };
  lines.forEach((line, i) => {
    if (near.has(i)) {
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
  if (!lines.some((l) => l.kind !== "same" && l.kind !== "fold")) return <p class="quiet pad">{t.diff.none}</p>;
  const shown = lines.flatMap((line, i) => (line.kind === "fold" && open.has(i) ? line.hidden! : [{ ...line, at: i }]));
  return (
    <div class="diff" role="table" aria-label={t.diff.label} tabIndex={0}>
      {shown.map((line, i) => line.kind === "fold" ? (
        <div role="row" key={i}><span role="cell"><button type="button" class="diff-fold" onClick={() => setOpen(new Set([...open, (line as Line & { at: number }).at]))}>
          {t.diff.more(line.hidden!.length)}
        </button></span></div>
      ) : (
        <div class={`diff-line ${line.kind}`} role="row" key={i}>
          <span class="diff-number" aria-hidden="true">{line.old ?? ""}</span>
          <span class="diff-number" aria-hidden="true">{line.new ?? ""}</span>
          <span class="diff-sign" role="cell">{SIGN[line.kind]}</span>
          <span class="diff-text" role="cell">{line.parts.map((p, k) => (p.marked ? <mark key={k}>{spell(p.text)}</mark> : spell(p.text)))}</span>
        </div>
      ))}
    </div>
  );
}

export function Diff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => fold(compare(before, after)), [before, after]);
  return <Table lines={lines} />;
}
export function Unified({ lines }: { lines: readonly string[] }) {
  const read = useMemo(() => readUnified(lines), [lines.join("\n")]);
  return <Table lines={read} />;
}
