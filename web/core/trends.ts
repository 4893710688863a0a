// How calls went over time: the server's aggregates.
import { query, request } from "./api";

export interface Trend { name: string; client?: string; calls: number; failed: number; denied?: number; p50?: number; p95?: number; ms?: number }
export interface Point { at: number; calls: number; failed: number; p50?: number; p95?: number; ms: number; memory: number }
export interface Slow { mac: string; time: string; action: string; caller: string; client?: string; ms: number; cpu_ms: number; host_calls: number; asked: number }
export interface Trends {
  vault: string; odd?: string;
  trends: { from: number; to: number; step: number; points: Point[]; total: Omit<Point, "at">; actions: Trend[]; callers: Trend[]; methods: Trend[]; errors: Trend[]; slowest: Slow[]; cut: boolean };
}
export const getTrends = (vault: string, range: string, kind: string, name: string, signal?: AbortSignal): Promise<Trends> =>
  request("GET", `/performance${query({ vault, range, kind, name })}`, undefined, signal);
