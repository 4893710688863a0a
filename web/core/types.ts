// What the person's routes answer (docs/page.md).

export interface Claim { name: string; version?: string; claimed?: boolean }
export interface Rec {
  mac: string; n?: number; time: string; event: string; caller?: string; client?: Claim;
  action?: string; result?: string; notes?: string[]; more_notes?: number; ms?: number; intent?: string;
  why?: string; kind?: string; message?: string; target?: string; calls?: Record<string, number>;
  denied?: Record<string, number>; failed?: Record<string, number>; changed?: boolean; level?: string;
  code?: string; code_bytes?: number; cpu_ms?: number; peak_memory_bytes?: number; host_calls?: number;
  hosts?: string[]; key?: string; policy?: string;
  tools?: { tool: string; version?: string; result: string; exit?: number; ms?: number }[];
  functions?: { name: string; calls: number; failed?: number }[];
  [more: string]: unknown;
}
export interface Agent {
  caller: string; name?: string; version?: string; level: string; calls: number; failed: number;
  changed: number; last: string; action: string; result: string; paused?: { since: string; why: string };
}
export interface Vault { id: string; name: string; path: string }
export interface Health { policy: boolean; pauses: boolean; why?: string; readOnly?: boolean; disk: { ok: boolean; why?: string } }
export interface Today {
  vault: string; vaults: Vault[]; version: string; waiting: number; agents: Agent[]; changes: Rec[];
  alerts: Rec[]; health: Health;
}
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export interface Approval {
  id: string; kind: string; caller: string; client?: Claim; question?: string; asked: string; left_ms: number; until: number; // left_ms is from its answer on: `until`, by this clock
  waiting: boolean; vault: string; tools: string[]; choices: string[]; shown: Record<string, string | string[]>;
  arguments?: Record<string, Json>; // that a person may edit
}
export interface Confirmation { sentence: string; confirm: string }
export interface ActivityPage { vault: string; records: Rec[]; next: string; odd?: string }
export interface Timeline { calls: { call: string; at: number; ms: number; outcome?: string }[]; left?: number; leftMs?: number }
export interface Call { vault: string; record: Rec; code?: string; timeline?: Timeline; history?: { changes: { id: string; revision: number; time: string }[] } }
/** A note that stays, with what the call did to it and what came since, as unified diffs. */
export interface Stays { id: string; reason: string; changed_by?: string; diff: string; diff_since: string }
/** `notes`: that were undone, or that could be; `call`: what undid them. */
export interface Undone { undone: boolean; notes: number; refused?: Stays[]; call?: string; error?: string }
export interface Verified {
  ok: boolean; trails: { folder: string; records: number; ok: boolean; bad?: { why: string; file: string; line: number }; missing?: { why: string } }[];
  history?: { ok: boolean };
}
export interface Setup { program: string; url: string }
export interface Report { ok: boolean; version: string; checks: { name: string; ok: boolean; detail: string }[] }
