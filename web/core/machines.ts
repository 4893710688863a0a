// A person's own Linux machines: what they are, what runs in them, their files and ports.
import { keyOf, Refusal, request, wordsOfAnswer } from "./api";

export interface Port { port: number; hostPort: number; address: string; url: string }
export interface Machine {
  machine: string; state: "running" | "stopped" | "failed"; default: boolean; name?: string; from?: string; reason?: string; ramMB: number; network: boolean; started: string;
  idle_ms?: number; idle_limit_ms?: number; compute_ms?: number; memory_bytes?: number; disk_bytes?: number; commands?: number; sessions?: number; ports?: Port[];
}
export interface Snapshot { name: string; kind: "snapshot" | "machine"; default: boolean; ramMB: number; bytes: number; made: string; usable: boolean; note?: string }
export interface Entry { name: string; type: string; size: number; mode: string; modified: string; target?: string }
export interface Folder { path: string; entries: Entry[]; total: number; more?: true }
export interface Ran { success: boolean; exitCode: number; error?: string; timedOut?: true; cancelled?: true; shellEnded?: true; restarted?: string; machine: string; stats?: Record<string, number> }

const of = (machine: string, rest = ""): string => `/vm/${encodeURIComponent(machine)}${rest}`;
const file = (machine: string, path: string): string => `/person${of(machine, "/file")}?path=${encodeURIComponent(path)}`;

export const getMachines = (): Promise<Machine[]> => request("GET", "/vm");
export const getSnapshots = (): Promise<Snapshot[]> => request("GET", "/vm/snapshots");
export const startMachine = (options: object): Promise<Machine> => request("POST", "/vm", options);
export const stopMachine = (machine: string): Promise<unknown> => request("DELETE", of(machine));
export const forkMachine = (machine: string): Promise<Machine> => request("POST", of(machine, "/fork"), {});
export const saveMachine = (machine: string, name: string): Promise<Snapshot> => request("POST", "/vm/snapshots", { machine, name });
export const restoreSnapshot = (name: string): Promise<Machine> => request("POST", `/vm/snapshots/${encodeURIComponent(name)}/restore`, {});
export const removeSnapshot = (name: string): Promise<unknown> => request("DELETE", `/vm/snapshots/${encodeURIComponent(name)}`);
export const exposePort = (machine: string, port: number): Promise<Port> => request("POST", of(machine, "/ports"), { port });
export const closePort = (machine: string, port: number): Promise<unknown> => request("DELETE", of(machine, `/ports/${port}`));
export const getFolder = (machine: string, path: string, signal?: AbortSignal): Promise<Folder> =>
  request("GET", of(machine, `/files?limit=500&path=${encodeURIComponent(path)}`), undefined, signal);

async function refused(answer: Response): Promise<Refusal> {
  const said: unknown = await answer.json().catch(() => null);
  return new Refusal(answer.status, wordsOfAnswer(said, answer.status), said);
}

export async function readFile(machine: string, path: string, signal?: AbortSignal): Promise<Blob> {
  const answer = await fetch(file(machine, path), { headers: { "X-Cloche-Key": keyOf() }, cache: "no-store", signal });
  if (!answer.ok) throw await refused(answer);
  return answer.blob();
}

export async function writeFile(machine: string, path: string, bytes: Blob): Promise<void> {
  const answer = await fetch(file(machine, path), { method: "PUT", headers: { "X-Cloche-Key": keyOf(), "Content-Type": "application/octet-stream" }, body: bytes });
  if (!answer.ok) throw await refused(answer);
}

/** Runs a shell in a terminal of that name; what it prints is heard as it comes. */
export async function openTerminal(machine: string, name: string, size: { rows: number; columns: number }, hear: (what: string | Uint8Array) => void, signal: AbortSignal): Promise<Ran> {
  const answer = await fetch("/person/vm/exec", {
    method: "POST", signal, cache: "no-store", headers: { "X-Cloche-Key": keyOf(), "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ machine, command: "exec bash -l", cwd: "/root", terminal: { name, ...size } }),
  });
  if (!answer.ok || !answer.body) throw await refused(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    const blocks = (rest + (value ?? "")).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, kind, data] = /^event: (\w+)\ndata: ([\s\S]*)$/.exec(block) ?? [];
      if (kind === "vm") {
        const said = JSON.parse(data) as { text?: string; base64?: string };
        hear(said.text ?? Uint8Array.from(atob(said.base64 ?? ""), (c) => c.charCodeAt(0)));
      } else if (kind === "result") return JSON.parse(data) as Ran;
      else if (kind === "error") throw new Refusal(500, wordsOfAnswer(JSON.parse(data), 500));
    }
    if (done) throw new Refusal(0, wordsOfAnswer(null, 0));
  }
}

/** Types into it, or changes its size; resolves to the number of bytes that were taken. */
export async function typeInTerminal(machine: string, name: string, what: { bytes?: Uint8Array; rows?: number; columns?: number }): Promise<number> {
  const { bytes, ...size } = what;
  const body = bytes ? { base64: btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")), ...size } : size;
  return (await request<{ typed: number }>("POST", of(machine, `/terminals/${encodeURIComponent(name)}`), body)).typed;
}
