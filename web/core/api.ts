// Requests to the server, as the person on the page: the cookie is the browser's, and the key
// that goes with it is asked for once a tab. Every failure is a Refusal in the server's words.
import { t } from "./texts";
import type { ActivityPage, Approval, Call, Confirmation, Json, Report, Setup, Today, Undone, Verified } from "./types";

export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly body: unknown = null) {
    super(message);
  }
}

let key = "";
/** Told when the server knows this browser no more. */
let onOut: () => void = () => {};
export const whenOut = (fn: () => void): void => { onOut = fn; };
export const tellOut = (): void => onOut();
export const keyOf = (): string => key;

const BASE = "/person";
/** What this page does has it in its records, so that it is told from what other tabs do. */
export const PAGE = crypto.randomUUID().slice(0, 8);

type Headers = Record<string, string>;
async function send(method: string, path: string, body?: unknown, signal?: AbortSignal, more: Headers = {}): Promise<Response> {
  const headers: Headers = { "X-Cloche-Key": key, "X-Cloche-Page": PAGE, ...more };
  if (body !== undefined) headers["Content-Type"] ??= "application/json";
  const answer = await fetch(`${BASE}${path}`, {
    method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store", credentials: "same-origin", redirect: "error",
  });
  compareClocks(answer.headers.get("Date"));
  return answer;
}

const COMPARED = 20;
const ahead: number[] = []; // by how many ms this computer's clock is ahead of the server's at most, of the last answers

/** An answer tells the second in which it was made. */
function compareClocks(date: string | null) {
  const ms = Date.now() - Date.parse(date ?? "");
  if (!Number.isNaN(ms)) ahead.push(ms);
  if (ahead.length > COMPARED) ahead.shift();
}

/** Now, by the server's clock, or up to a second before: the records of what is done from now on are younger. */
export const serverNow = (): string => new Date(Date.now() - (ahead.length ? Math.min(...ahead) : 1000)).toISOString();

async function read(answer: Response): Promise<unknown> {
  const type = answer.headers.get("Content-Type") ?? "";
  return type.includes("json") ? answer.json() : answer.text();
}

export function wordsOfAnswer(said: unknown, status: number): string {
  const known = said as { error?: string; detail?: string } | null;
  if (typeof said === "string" && said) return said;
  return known?.error ?? known?.detail ?? (status ? `The server answered ${status}.` : t.unreachable);
}

/** Comes in by a link, or by the cookie alone. false: neither is good. */
export async function enter(link?: string): Promise<boolean> {
  const answer = await send("POST", "/enter", link ? { link } : {});
  const said = (await read(answer)) as { key?: string };
  if (answer.status === 401) return false;
  if (!answer.ok) throw new Refusal(answer.status, wordsOfAnswer(said, answer.status));
  key = said.key ?? "";
  return true;
}

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers?: Headers): Promise<T> {
  let answer = await send(method, path, body, signal, headers);
  if (answer.status === 401 && (await enter())) answer = await send(method, path, body, signal, headers); // another server, the same seat
  const said = await read(answer);
  if (answer.ok) return said as T;
  if (answer.status === 401) onOut();
  throw new Refusal(answer.status, wordsOfAnswer(said, answer.status), said);
}

export const query = (given: Record<string, string | number | undefined>): string => {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== undefined && value !== "") words.set(name, String(value));
  const text = words.toString();
  return text ? `?${text}` : "";
};

export const getToday = (vault: string, signal?: AbortSignal): Promise<Today> => request("GET", `/today${query({ vault })}`, undefined, signal);
export const getApprovals = async (): Promise<Approval[]> =>
  (await request<{ approvals: Omit<Approval, "until">[] }>("GET", "/approvals")).approvals.map((a) => ({ ...a, until: Date.now() + a.left_ms }));
export type Filter = Partial<Record<"caller" | "action" | "result" | "note" | "q" | "since" | "until" | "event", string>>;
export const getActivity = (vault: string, filter: Filter, before = "", limit = 200, signal?: AbortSignal): Promise<ActivityPage> =>
  request("GET", `/activity${query({ vault, ...filter, before, limit })}`, undefined, signal);
export const getCall = (vault: string, mac: string): Promise<Call> => request("GET", `/call${query({ vault, mac })}`);
export const getVerified = (vault: string): Promise<Verified> => request("GET", `/verified${query({ vault })}`);
export const getSetup = (): Promise<Setup> => request("GET", "/setup");
export const getReport = (): Promise<Report> => request("GET", "/health");
export const leave = (): Promise<unknown> => request("POST", "/leave", {});
export const pause = (vault: string, caller: string): Promise<unknown> => request("POST", "/pause", { vault, caller });
export const resume = (vault: string, caller: string): Promise<unknown> => request("POST", "/resume", { vault, caller });

/** What widens rights is answered by a Confirmation the first time; null: it is done. */
export async function twice(path: string, body: object, confirm?: string): Promise<Confirmation | null> {
  try {
    await request("POST", path, { ...body, ...(confirm && { confirm }) });
    return null;
  } catch (e) {
    if (e instanceof Refusal && e.status === 428) return e.body as Confirmation;
    throw e;
  }
}
export const decide = (id: string, allow: boolean, remember: string, confirm?: string, reason = ""): Promise<Confirmation | null> =>
  twice("/decide", { id, allow, remember, ...(reason && { reason }) }, confirm);

/** The call asks anew, with these arguments. */
export const edit = (id: string, args: Record<string, Json>): Promise<unknown> => request("POST", "/decide", { id, arguments: args });

/** Where a note cannot be undone, none is, and the answer says why; `others`: the others are. */
export async function undo(vault: string, call: string, others: boolean): Promise<Undone> {
  try {
    return await request<Undone>("POST", "/undo", { vault, call, others });
  } catch (e) {
    if (e instanceof Refusal && e.status === 409 && (e.body as Undone).refused) return e.body as Undone;
    throw e;
  }
}

interface RevisionRow { revision: number; action: string; author: string; path: string }
interface Revision extends RevisionRow { markdown: string }
const note = (vault: string, id: string): string =>
  `/workspaces/${encodeURIComponent(vault)}/notes/${encodeURIComponent(id)}/history`;
export const getRevision = (vault: string, id: string, revision: number): Promise<Revision> =>
  request("GET", `${note(vault, id)}/${revision}`);
/** The one before it; null: there is none. */
export async function getRevisionBefore(vault: string, id: string, revision: number): Promise<Revision | null> {
  const rows = await request<RevisionRow[]>("GET", `${note(vault, id)}${query({ limit: 1, cursor: revision })}`);
  return rows.length ? getRevision(vault, id, rows[0].revision) : null;
}
