// Code that a person writes: what it may call, what a check finds, and running it.
import { Refusal, request } from "./api";

export interface Declared { space: string; name: string; kind: "function" | "namespace" | "type" | "variable"; detail: string; about: string }
export interface Mark { line: number; column: number; endLine?: number; endColumn?: number; severity: string; message: string; suggestion?: string }
export interface Findings { ok: boolean; findings: Mark[]; types?: Mark[] }
export interface Traced { name?: string; call?: string; ms?: number; error?: string; [more: string]: unknown }
export interface Change { path: string; action: string; new_path?: string; diff?: string; diff_truncated?: boolean }
export interface Evaluated {
  success: boolean; result: unknown; error?: string | null; errorDetails?: { type?: string; frame?: string; hint?: string; suggestion?: string; stack?: string } | null;
  executionTime?: number; logs: { level: string; message: string }[]; stats: Record<string, number>; trace?: Traced[]; changes?: Change[]; changeCount?: number; truncated?: boolean; hints?: unknown[];
}

const at = (vault: string, rest: string): string => `/workspaces/${encodeURIComponent(vault)}/${rest}`;

export const checkCode = (vault: string, code: string, language: string, context: object | null, signal?: AbortSignal): Promise<Findings> =>
  request("POST", at(vault, "check"), { code, language, ...(context && { context }) }, signal);
/** Code that failed is answered as well. `isLook`: the page's own, which is listed as no activity. */
export async function evaluate(vault: string, level: string, body: Record<string, unknown>, signal?: AbortSignal, isLook = false): Promise<Evaluated> {
  try {
    return await request("POST", at(vault, "evaluate"), body, signal, { "X-Cloche-Level": level, ...(isLook && { "X-Cloche-Look": "page" }) });
  } catch (e) {
    if (e instanceof Refusal && (e.body as Evaluated | null)?.success === false) return e.body as Evaluated;
    throw e;
  }
}
export const register = (vault: string, definition: object): Promise<unknown> => request("POST", at(vault, "functions"), definition);
export const forget = (vault: string, name: string): Promise<unknown> => request("DELETE", at(vault, `functions/${encodeURIComponent(name)}`));

/** The definition of a function that does what a program does, whose variables become its parameters. */
export function asFunction(name: string, description: string, code: string, context: object | null): object {
  const typeOf = (value: unknown): string =>
    value === null ? "any" : Array.isArray(value) ? "any[]" : typeof value === "object" ? "Record<string, any>" : typeof value;
  const given = Object.entries(context ?? {});
  const takes = given.map(([key, value]) => `${key}: ${typeOf(value)}`).join(", ");
  return {
    name, description, parameters: Object.fromEntries(given.map(([key, value]) => [key, { type: typeOf(value) }])), returnType: "Promise<any>",
    code: `async function ${name}(${takes}): Promise<any> {\n${code.split("\n").map((line) => (line ? `  ${line}` : line)).join("\n")}\n}`,
  };
}

/** Names that declarations make known: what stands in a namespace, and what stands alone. */
export function declaredIn(types: string): Declared[] {
  const all: Declared[] = [];
  let space = "";
  let about = "";
  const put = (name: string, kind: Declared["kind"], detail: string) => {
    const last = all[all.length - 1];
    if (last?.name === name && last.space === space) last.detail += `\n${name}${detail}`; // another overload
    else all.push({ space, name, kind, detail, about });
    about = "";
  };
  for (const line of types.split("\n")) {
    const doc = /^\s*\/\*\*\s*(.*?)\s*(\*\/)?$/.exec(line);
    if (doc) { about = doc[1]; continue; }
    const opened = /^declare (?:namespace|const) ([\w$]+)(?:: | )\{/.exec(line);
    if (opened) {
      put(opened[1], "namespace", "");
      if (!line.trimEnd().endsWith("};") && !line.trimEnd().endsWith("}")) space = opened[1];
      continue;
    }
    if (/^\}/.test(line)) { space = ""; about = ""; continue; }
    const method = /^(?:declare function|\s+(?:function )?)\s*([\w$]+)(?:<[^>]*>)?(\(.*?)(?:;|$)/.exec(line);
    if (method && (space || line.startsWith("declare"))) { put(method[1], "function", method[2]); continue; }
    const type = /^(?:interface|type|declare class) ([\w$]+)/.exec(line);
    if (type) put(type[1], "type", "");
  }
  return all;
}

let kept: Promise<Declared[]> | null = null;
export function getDeclared(): Promise<Declared[]> {
  kept ??= request<{ types: string }>("GET", "/declarations").then((told) => declaredIn(told.types));
  kept.catch(() => { kept = null; });
  return kept;
}
