// Custom functions: what the server tells of them, and what a person does with them. All of it is REST (docs/rest.md).
import { query, Refusal, request } from "./api";

export interface Parameter { type: string; description?: string; optional?: boolean; default?: unknown }
export interface Example { name?: string; args: unknown; expected?: unknown; matches?: unknown; error?: string; notes?: unknown; now?: string; [more: string]: unknown }
export interface Definition {
  name: string; description: string; parameters: Record<string, Parameter>; returnType: string; code: string; language?: string; tags?: string[]; examples?: Example[];
}
export interface Metadata { createdAt?: string; updatedAt?: string; createdBy: "agent" | "user"; usageCount?: number; lastUsed?: string; version?: number }
export interface FunctionRow {
  id: string; name: string; signature: string; description: string; parameters: Record<string, Parameter>; returnType: string; language?: string; tags: string[]; metadata: Metadata; origin?: string;
}
export interface Told { function: Definition & { id: string; metadata: Metadata }; signature: string; typeDefinition: string; usage: string; origin?: string }
export interface Finding { field?: string; line?: number; column?: number; code?: string; message: string; suggestion?: string; function?: string }
export interface Validity { valid: boolean; errors: Finding[]; warnings: Finding[] }
export interface Refused { error?: string; detail?: string; errors?: Finding[]; warnings?: Finding[]; breaking?: boolean; reasons?: string[]; callers?: unknown[]; tests?: unknown; functions?: Imported[]; errorDetails?: { type?: string; suggestion?: string } | null }
export interface Trial {
  success: boolean; name: string; dryRun: boolean; result?: unknown; error?: string | null; errorDetails?: { type?: string; frame?: string; suggestion?: string; stack?: string; function?: { frame?: string; line?: number } } | null;
  executionTime?: number; logs?: { level: string; message: string }[]; changes?: { path: string; action: string; diff?: string; new_path?: string }[]; changeCount?: number;
  examples?: Trialled[]; tests?: Trialled[] | { results?: Trialled[] }; passed?: number; failed?: number; [more: string]: unknown;
}
export interface Trialled { name?: string; ok?: boolean; passed?: boolean; success?: boolean; skipped?: boolean | string; error?: string; advice?: string; [more: string]: unknown }
export interface Version { version: number; at?: string; time?: string; author?: string; by?: string; note?: string; action?: string; [more: string]: unknown }
export interface Versions { versions: Version[]; diff?: unknown }
export interface Run { at?: string; when?: string; time?: string; version?: number; calls?: number; ms?: number; outcome?: string; caller?: string; trial?: boolean; [more: string]: unknown }
export interface Stats {
  calls?: number; failed?: number; evaluations?: number; successRate?: number | null; durations?: { p50?: number; p95?: number; mean?: number }; errors?: { kind: string; count: number; last?: string }[];
  lastUsed?: string | null; callsThisMonth?: number; failedThisMonth?: number; versions?: unknown[]; runs?: Run[]; days?: { day: string; calls: number; failed: number }[];
  functions?: (Stats & { name: string })[]; suggestions?: { kind: string; function: string; message: string }[]; [more: string]: unknown;
}
export interface Template { template: string; description: string }
export interface Imported { name: string; action?: string; result?: string; error?: string; errors?: Finding[]; [more: string]: unknown }

const at = (vault: string, rest = ""): string => `/workspaces/${encodeURIComponent(vault)}/functions${rest}`;
const of = (vault: string, name: string, rest = ""): string => at(vault, `/${encodeURIComponent(name)}${rest}`);

export interface ListQuery { query?: string; tags?: string; createdBy?: string; sort?: string; order?: string; minUsage?: number; maxUsage?: number; usedSince?: string; unusedSince?: string; limit?: number }
export const listFunctions = (vault: string, given: ListQuery, signal?: AbortSignal): Promise<FunctionRow[]> => request("GET", at(vault, query({ ...given })), undefined, signal);
export const getFunction = (vault: string, name: string, version?: number): Promise<Told> => request("GET", of(vault, name, query({ version })));
export const getVersions = (vault: string, name: string, from?: number, to?: number): Promise<Versions> => request("GET", of(vault, name, `/versions${query({ from, to })}`));
export const getStats = (vault: string, name = ""): Promise<Stats> => request("GET", name ? of(vault, name, "/stats") : at(vault, "/stats"));
export const validate = (vault: string, draft: object, signal?: AbortSignal): Promise<Validity> => request("POST", at(vault, "/validate"), draft, signal);
export const create = (vault: string, definition: Definition, force = false): Promise<{ version?: number; warnings: Finding[] }> =>
  request("POST", at(vault), { ...definition, createdBy: "user", ...(force && { force }) });
export const update = (vault: string, name: string, patch: object): Promise<{ version?: number; warnings: Finding[] }> => request("PATCH", of(vault, name), patch);
export const remove = (vault: string, name: string, force = false): Promise<unknown> => request("DELETE", of(vault, name, query({ force: force ? "true" : "" })));
export const duplicate = (vault: string, name: string, newName: string): Promise<unknown> => request("POST", of(vault, name, "/duplicate"), { newName });
export const rollback = (vault: string, name: string, version: number, force = false): Promise<{ version?: number }> => request("POST", of(vault, name, "/rollback"), { version, ...(force && { force }) });
export const listTemplates = (vault: string): Promise<Template[]> => request("GET", at(vault, "/templates"));
export const getTemplate = (vault: string, template: string): Promise<Told | { function: Definition }> => request("GET", at(vault, `/templates/${encodeURIComponent(template)}`));
export const exportFunctions = (vault: string, names: string[]): Promise<object> => request("GET", at(vault, `/export${query({ names: names.join(",") })}`));

/** A refusal is answered as well: what is wrong, by field. */
async function tried<T>(doing: Promise<T>): Promise<T | { refused: Refused; status: number }> {
  try {
    return await doing;
  } catch (e) {
    if (e instanceof Refusal && e.body && typeof e.body === "object") return { refused: e.body as Refused, status: e.status };
    throw e;
  }
}
export const isRefused = (x: unknown): x is { refused: Refused; status: number } => typeof x === "object" && x !== null && "refused" in x;
export const tryCreate = (vault: string, definition: Definition, force: boolean) => tried(create(vault, definition, force));
export const tryUpdate = (vault: string, name: string, patch: object) => tried(update(vault, name, patch));
export const tryImport = (vault: string, file: unknown, conflict: string, dryRun: boolean): Promise<{ success: boolean; functions?: Imported[] } | { refused: Refused; status: number }> =>
  tried(request("POST", at(vault, `/import${query({ conflict, dryRun: dryRun ? "true" : "" })}`), file));
/** Runs a definition, stored or not; what it writes is thrown away unless `dry` is false. */
export async function trial(vault: string, name: string | null, definition: Definition | null, args: unknown, dry: boolean, signal?: AbortSignal): Promise<Trial> {
  const body = { ...(definition && { definition }), ...(args !== undefined && { args }), dryRun: dry };
  const said = await tried(request<Trial>("POST", name ? of(vault, name, "/test") : at(vault, "/test"), body, signal));
  return isRefused(said) ? { success: false, name: name ?? definition?.name ?? "", dryRun: dry, error: said.refused.error ?? said.refused.detail ?? "", errorDetails: said.refused.errorDetails as Trial["errorDetails"], ...(said.refused as object) } : said;
}

/** The value that a person typed for a parameter; undefined: left out. Throws where it is none of that type. */
export function readArgument(type: string, text: string): unknown {
  const plain = type.replaceAll(" ", "");
  if (text === "") return undefined;
  if (plain === "string") return text;
  if (plain === "number") {
    const n = Number(text);
    if (Number.isNaN(n)) throw new Error("number");
    return n;
  }
  if (plain === "boolean") return text === "true";
  if (choicesOf(type)) return JSON.parse(text);
  if (plain === "string[]") return text.trim().startsWith("[") ? JSON.parse(text) : text.split("\n").filter(Boolean);
  return JSON.parse(text);
}
/** The default that a person wrote for a parameter; undefined: none. It is JSON; a string may be without quotes. Throws
 * where it is none of that type. */
export function readDefault(type: string, text: string): unknown {
  const plain = type.replaceAll(" ", "");
  const words = text.trim();
  if (!words) return undefined;
  if (plain === "string" && !isQuoted(words)) return text;
  const choices = choicesOf(type);
  if (choices?.includes(JSON.stringify(words))) return words;
  const value: unknown = JSON.parse(words);
  const fits = plain === "string" || plain === "number" || plain === "boolean" ? typeof value === plain : choices ? choices.includes(JSON.stringify(value)) : !plain.endsWith("[]") || Array.isArray(value);
  if (!fits) throw new Error(type);
  return value;
}
const isQuoted = (words: string): boolean => /^".*"$/s.test(words);
/** Text that readDefault() reads as this value. */
export const writeDefault = (type: string, value: unknown): string =>
  value === undefined ? "" : typeof value === "string" && type.trim() === "string" && value.trim() && !isQuoted(value.trim()) ? value : JSON.stringify(value);
/** The words of a type that is a choice of literals: "'a' | 'b'"; as JSON. null: it is another. */
export function choicesOf(type: string): string[] | null {
  const parts = type.split("|").map((p) => p.trim());
  if (parts.length < 2 || !parts.every((p) => /^(['"]).*\1$|^-?\d+(\.\d+)?$/.test(p))) return null;
  return parts.map((p) => (/^['"]/.test(p) ? JSON.stringify(p.slice(1, -1)) : p));
}

/** Deletes them, all or none; answered are the versions that they had. */
export async function forgetAll(vault: string, names: string[], force = false): Promise<Record<string, number>> {
  const had: Record<string, number> = {};
  for (const name of names) had[name] = (await getFunction(vault, name)).function.metadata.version ?? 1;
  await request("DELETE", at(vault, query({ names: names.join(","), force: force ? "true" : "" })));
  return had;
}
