// Command-line tools: what the server tells of them, and what a person does with them.
import { enter, keyOf, query, Refusal, request, twice, wordsOfAnswer } from "./api";
import type { Confirmation } from "./types";

export interface ToolParameter {
  name: string; description: string; type: "string" | "number" | "boolean" | "array" | "object"; items?: string;
  choices?: unknown[]; default?: unknown; required: boolean;
}
export interface Tool {
  name: string; version: string; category: string; description: string; returns: string; author: string; license: string;
  homepage: string; signer: string; vault: string; sha256: string; source: "builtin" | "user"; installed?: string; updated?: string;
  parameters: ToolParameter[]; files: "none" | "read" | "write" | "readwrite"; memoryMB: number; timeoutMs: number;
  runtime: "wasm" | "vm"; command?: string; machine?: "always" | "ask" | "never"; // of a command of the Linux machine: how it begins, and vm.permission
  exits: { code: number; means: string }[]; enabled: boolean; disabledByPolicy: boolean;
  permission: "always" | "ask" | "never"; asksForFiles: boolean; from: "default" | "user" | "vault";
}
export interface Tools { vault: string; tools: Tool[]; problems: string[] }
export interface Installed {
  tool?: { name: string; version: string; files: Tool["files"]; signer: string }; key?: string; warnings?: string[]; error?: string; errors?: string[];
}
export interface Ran {
  success: boolean; stdout: string; stderr: string; exitCode: number; stdoutEncoding?: string; stderrEncoding?: string;
  files?: { name: string; size: number; text?: string; base64?: string }[];
  error?: string; hint?: string; stats?: { wall_ms: number; peak_memory_bytes?: number };
}

export const ZIP_MAX = 50 << 20; // bytes

export const getTools = (vault: string, signal?: AbortSignal): Promise<Tools> => request("GET", `/tools${query({ vault })}`, undefined, signal);
/** What widens rights is answered by a Confirmation the first time. */
export const permitTool = (tool: string, permission: string, vault: string, confirm?: string): Promise<Confirmation | null> =>
  twice("/permit", { tool, permission, ...(vault && { vault }) }, confirm);
export const switchTool = (tool: string, enabled: boolean, vault: string): Promise<unknown> =>
  request("POST", "/switch", { tool, enabled, ...(vault && { vault }) });
export const removeTool = (tool: string, vault: string): Promise<unknown> => request("POST", "/remove", { tool, ...(vault && { vault }) });

/** Runs it, as a person: no policy is asked. */
export const runTool = (vault: string, tool: string, body: Record<string, unknown>): Promise<Ran> =>
  request("POST", `/tools/${encodeURIComponent(tool)}${query({ workspace: vault })}`, body);

function send(file: Blob, path: string, onSent: (part: number) => void): Promise<{ status: number; said: Installed }> {
  return new Promise((done, fail) => {
    const call = new XMLHttpRequest(); // fetch tells nothing of what is sent
    call.open("POST", `/person${path}`);
    call.setRequestHeader("X-Cloche-Key", keyOf());
    call.setRequestHeader("Content-Type", "application/zip");
    call.responseType = "json";
    call.upload.onprogress = (e) => { if (e.lengthComputable) onSent(e.loaded / e.total); };
    call.onload = () => done({ status: call.status, said: (call.response ?? {}) as Installed });
    call.onerror = () => fail(new Refusal(0, wordsOfAnswer(null, 0)));
    call.send(file);
  });
}

/** 409: a tool of that name is there, and `replace` was not said. */
export async function installTool(file: Blob, vault: string, replace: boolean, onSent: (part: number) => void): Promise<{ status: number; said: Installed }> {
  const path = `/install${query({ vault, replace: replace ? "yes" : "" })}`;
  const answer = await send(file, path, onSent);
  return answer.status === 401 && (await enter()) ? send(file, path, onSent) : answer;
}
