// What agents may do: the policy and changes of it, the guard's answers, and tokens.
import { query, Refusal, request, twice } from "./api";
import type { Confirmation } from "./types";

export interface Schema {
  type?: string | string[]; enum?: string[]; minimum?: number; maximum?: number; maxItems?: number; default?: unknown; description?: string;
  items?: Schema; properties?: Record<string, Schema>; additionalProperties?: Schema | boolean; pattern?: string;
}
export interface KeyValue { key: string; value: unknown; from: "default" | "user" | "vault"; and?: unknown; summary: string; vaultMay: boolean }
export interface Problem { file: string; line: number; column: number; key: string; severity: "error" | "warning"; message: string }
export interface Shown { values: KeyValue[]; files: { from: "user" | "vault"; file: string; there: boolean }[]; problems: Problem[]; digest: string }
export interface PolicyAnswer { vault: string; shown: Shown | null; why?: string; check?: { ok: boolean; problems: Problem[] }; schema: Schema }
export interface Edit { key: string; value?: unknown }
export interface PolicyChange { key: string; before: unknown; after: unknown; vaultBefore?: unknown; vaultAfter?: unknown; wider: boolean }
export interface Tried { made: boolean; ok: boolean; wider: boolean; text: string; changes?: PolicyChange[]; problems: Problem[] }

export const getPolicy = (vault: string, signal?: AbortSignal): Promise<PolicyAnswer> => request("GET", `/policy${query({ vault })}`, undefined, signal);
/** What the edits would come to; nothing is written. */
export const tryPolicy = (vault: string, edits: Edit[], signal?: AbortSignal): Promise<Tried> => request("POST", "/policy", { edits, ...(vault && { vault }) }, signal);
/** Writes them. What gives agents more rights is answered by a Confirmation the first time; null: done. */
export async function changePolicy(vault: string, edits: Edit[], confirm?: string): Promise<Confirmation | null> {
  try {
    return await twice("/policy", { edits, make: true, ...(vault && { vault }) }, confirm);
  } catch (e) {
    const first = e instanceof Refusal && e.status === 409 ? (e.body as Tried).problems?.find((p) => p.severity === "error") : undefined;
    throw first ? new Refusal(409, `${first.key}: ${first.message}`) : e;
  }
}

export interface Answered { call: string; what: string; may: "yes" | "asks" | "no"; why?: string }
export interface May { vault: string; caller: string; level?: string; readOnly?: boolean; refused?: string; answers?: Answered[] }
export const getMay = (given: { vault: string; way: string; level: string; token: string }, signal?: AbortSignal): Promise<May> => request("GET", `/may${query(given)}`, undefined, signal);

export interface Token {
  id: string; name: string; level: string; scopes: string[]; vaults: string[] | null; created: string; expires: string | null; revoked: string | null; last_used: string | null;
}
export interface TokenWish { name: string; level: string; scopes: string; vaults?: string[]; expires: string }
export const getTokens = async (): Promise<Token[]> => (await request<{ tokens: Token[] }>("GET", "/tokens")).tokens;
/** The text of a token is told once; a Confirmation comes first. */
export async function createToken(wish: TokenWish, confirm?: string): Promise<Confirmation | string> {
  try {
    return (await request<{ token: string }>("POST", "/token", { ...wish, ...(confirm && { confirm }) })).token;
  } catch (e) {
    if (e instanceof Refusal && e.status === 428) return e.body as Confirmation;
    throw e;
  }
}
export const revokeToken = (name: string): Promise<unknown> => request("POST", "/revoke", { name });

/** The schema of a dotted key. */
export function schemaOf(schema: Schema, key: string): Schema {
  let at: Schema | undefined = schema;
  for (const name of key.split(".")) at = at?.properties?.[name];
  return at ?? {};
}

/** How a key is edited. */
export type Kind = "switch" | "number" | "word" | "lines" | "url" | "json";
export function kindOf(schema: Schema): Kind {
  const types = [schema.type ?? []].flat();
  if (types.includes("boolean")) return "switch";
  if (types.includes("integer")) return "number";
  if (schema.enum) return "word";
  if (types.includes("array")) return schema.items?.type === "string" ? "lines" : "json";
  return types.includes("string") ? "url" : "json";
}
