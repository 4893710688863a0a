// Notes of a vault, by its REST routes and, for links, by the calls of evaluated code.
import { getActivity, PAGE, query, request, Refusal } from "./api";
import { evaluate } from "./code";

export interface NoteRow { id: string; title: string; class: string }
export interface Hit { id: string; title: string; class: string; excerpt: string; score: number }
export interface Note extends NoteRow { path: string; updated_at: string; markdown: string; content_hash: string; created_at?: string; tags: string[]; size?: number; properties: Record<string, unknown> }
export interface Link { source_note_id: string; target_note_id: string | null; target: string; link_text: string; link_type: string; line: number; file?: true; ambiguous?: true; reason?: string }
export interface Revision { revision: number; updated_at: string; author: string; action: string; summary: string; path: string; content_hash: string; markdown?: string }
export interface Trashed { backup_path: string; id: string; path: string; deleted_at?: string; size: number }

const at = (vault: string, rest: string): string => `/workspaces/${encodeURIComponent(vault)}/${rest}`;
const one = (vault: string, id: string, rest = ""): string => at(vault, `notes/${encodeURIComponent(id)}${rest}`);
/** The address of a note on the page. */
export const noteHref = (id: string): string => `/notes/${id.split("/").map(encodeURIComponent).join("/")}`;

export const getNotes = (vault: string, signal?: AbortSignal): Promise<NoteRow[]> => request("GET", at(vault, "notes?fields=id,title,class"), undefined, signal);
let kept: { vault: string; rows: NoteRow[] } | null = null; // the last list, shown until the next one is there
export const keptNotes = (vault: string): NoteRow[] | null => (kept?.vault === vault ? kept.rows : null);
export const keepNotes = (vault: string, rows: NoteRow[]): void => { kept = { vault, rows }; };
/** The list before somebody waits for it; the first question about a vault also brings its index up to date. */
export const readAhead = (vault: string): void => void getNotes(vault).then((rows) => { if (!keptNotes(vault)) keepNotes(vault, rows); }, () => {});
export const searchNotes = (vault: string, q: string, signal?: AbortSignal): Promise<Hit[]> => request("GET", at(vault, `search${query({ q, limit: 60 })}`), undefined, signal);
export const getNote = (vault: string, id: string): Promise<Note> => request("GET", one(vault, id));
export const getHistory = (vault: string, id: string): Promise<Revision[]> => request("GET", one(vault, id, "/history?limit=200"));
export const getOld = (vault: string, id: string, revision: number): Promise<Revision> => request("GET", one(vault, id, `/history/${revision}`));
export const getTrash = (vault: string): Promise<Trashed[]> => request("GET", at(vault, "trash?limit=200"));
export const restoreRevision = (vault: string, id: string, revision: number, hash: string): Promise<Note> =>
  request("POST", one(vault, id, `/history/${revision}/restore`), undefined, undefined, { "If-Match": `"${hash}"` });

/** null: it was changed since it had this hash, and nothing was written. */
export async function saveNote(vault: string, id: string, markdown: string, hash: string): Promise<Note | null> {
  try {
    return await request<Note>("PUT", one(vault, id), { markdown }, undefined, { "If-Match": `"${hash}"` });
  } catch (e) {
    if (e instanceof Refusal && e.status === 412) return null;
    throw e;
  }
}
export const patchNote = (vault: string, id: string, change: object, hash: string): Promise<Note> => request("PATCH", one(vault, id), change, undefined, { "If-Match": `"${hash}"` });
export const createNote = (vault: string, note: { title: string; class?: string }): Promise<Note> => request("POST", at(vault, "notes"), { ...note, content: "" });
/** false: other notes link to it, and it is still there. */
export async function deleteNote(vault: string, id: string, sure: boolean): Promise<boolean> {
  try {
    await request("DELETE", one(vault, id, sure ? "?confirm=true" : ""));
    return true;
  } catch (e) {
    if (e instanceof Refusal && e.status === 409 && !sure) return false;
    throw e;
  }
}

async function run<T>(vault: string, code: string, context: object, isLook = true): Promise<T> {
  const said = await evaluate(vault, "full", { code, context }, undefined, isLook);
  if (!said.success) throw new Refusal(422, said.error ?? "");
  return said.result as T;
}
/** A link for each target and for each note that links here, up to so many. */
export const getLinks = (vault: string, note: string, most = 1000): Promise<{ out: Link[]; back: Link[] }> =>
  run(vault, `const found = await links.getForNote(note);
const firsts = (all, key) => [...new Map([...all].reverse().map((x) => [x[key], x])).values()].reverse().slice(0, most);
return {out: firsts(found.outgoing_internal, "target"), back: firsts(found.incoming, "source_note_id")};`, { note, most });
export const getBroken = (vault: string): Promise<Link[]> => run(vault, "return await links.findBroken({limit: 1000});", {});
export interface Graph { ids: string[]; pairs: number[][]; links: number }
/** Notes by number, and for each that links to others its number with theirs. */
export const getGraph = (vault: string): Promise<Graph> => run(vault, `const {rows} = await notes.searchSQL({query: "SELECT id FROM notes ORDER BY id", limit: 10000});
const at = new Map(rows.map((r, i) => [r.id, i]));
const {rows: found} = await notes.searchSQL({query: "SELECT source_note_id AS s, json_group_array(DISTINCT target_note_id) AS t FROM links WHERE target_note_id IS NOT NULL GROUP BY 1", limit: 10000});
const pairs = found.map((r) => [at.get(r.s), ...JSON.parse(r.t).map((x) => at.get(x)).filter((x) => x !== undefined)]).filter((p) => p[0] !== undefined);
return {ids: rows.map((r) => r.id), pairs, links: pairs.reduce((n, p) => n + p.length - 1, 0)};`, {});
export const restoreTrashed = (vault: string, trashed: string): Promise<{ id: string }> => run(vault, "return await notes.restore({backup_path: trashed});", { trashed }, false);

/** What this page has changed last, since a time: the call that undoes it. */
export async function lastChange(vault: string, since: string): Promise<string> {
  const { records } = await getActivity(vault, { caller: "page", result: "changed", since, q: `page=${PAGE}` }, "", 1);
  return records[0]?.intent ?? "";
}

/** The text with a link's target replaced, where it first stands; null: it is not there. */
export function relink(markdown: string, target: string, to: string): string | null {
  let found = markdown.indexOf(`[[${target}`);
  while (found >= 0 && !/^[\]|#^]/.test(markdown.slice(found + 2 + target.length))) found = markdown.indexOf(`[[${target}`, found + 1);
  if (found < 0) return null;
  return `${markdown.slice(0, found)}[[${to}${markdown.slice(found + 2 + target.length)}`;
}

/** Names that are much like a target, the likeliest first. */
export function alike(target: string, all: readonly NoteRow[], max = 4): NoteRow[] {
  const pairs = (text: string): Set<string> => {
    const plain = text.toLowerCase().replace(/\.md$/, "").replace(/^.*\//, "");
    return new Set(Array.from({ length: Math.max(plain.length - 1, 0) }, (_, i) => plain.slice(i, i + 2)));
  };
  const wanted = pairs(target);
  const worth = (row: NoteRow): number => {
    const has = pairs(row.title);
    let same = 0;
    for (const pair of has) if (wanted.has(pair)) same++;
    return has.size + wanted.size ? (2 * same) / (has.size + wanted.size) : 0;
  };
  return all.map((row) => ({ row, worth: worth(row) })).filter((x) => x.worth > 0.4).sort((a, b) => b.worth - a.worth).slice(0, max).map((x) => x.row);
}
