// Which lines of two texts are the same, within bounds: texts are an agent's, and a comparison without a bound takes
// minutes where they have little in common.
import { diffArrays } from "diff";

const EDITS_MAX = 2_000; // lines removed and added: beyond it, nobody reads which is which
const LONGEST_MS = 500; // for very long texts of equal lines

export interface Change { kind: "same" | "old" | "new"; lines: string[] }

/** What is the same at both ends, with all that is between replaced. */
function ends(olds: string[], news: string[]): Change[] {
  const most = Math.min(olds.length, news.length);
  let head = 0;
  while (head < most && olds[head] === news[head]) head++;
  let tail = 0;
  while (tail < most - head && olds[olds.length - 1 - tail] === news[news.length - 1 - tail]) tail++;
  const all: Change[] = [
    { kind: "same", lines: olds.slice(0, head) }, { kind: "old", lines: olds.slice(head, olds.length - tail) },
    { kind: "new", lines: news.slice(head, news.length - tail) }, { kind: "same", lines: olds.slice(olds.length - tail) },
  ];
  return all.filter((one) => one.lines.length);
}

/** The fewest changes where they are few; of a replaced part what is old comes before what is new. */
export function changesOf(olds: string[], news: string[]): Change[] {
  const found = diffArrays(olds, news, { maxEditLength: EDITS_MAX, timeout: LONGEST_MS });
  return found?.map((one): Change => ({ kind: one.added ? "new" : one.removed ? "old" : "same", lines: one.value })) ?? ends(olds, news);
}

const ENDS = /\r\n|\r|\n/;

/** A text that was edited with \n alone, for the file whose text was `was`: each line that was not changed keeps its end, one
 * that was changed that of the line it takes the place of, and a new one has the usual end of the file. */
export function withEndsOf(was: string, text: string): string {
  if (!was.includes("\r")) return text;
  const ends = was.match(new RegExp(ENDS, "g")) ?? [];
  const usual = ends.filter((end) => end === "\r\n").length > ends.length / 2 ? "\r\n" : "\n";
  const news = text.split(ENDS);
  let at = 0; // in the old text
  let end = 0; // of what is replaced there
  let out = "";
  let left = news.length;
  for (const { kind, lines } of changesOf(was.split(ENDS), news)) {
    if (kind === "old") {
      end = at + lines.length;
      continue;
    }
    const until = kind === "same" ? Infinity : end;
    if (kind === "same") at = Math.max(at, end);
    for (const line of lines) out += line + (--left ? (at < until ? ends[at++] : undefined) ?? usual : "");
  }
  return out;
}
