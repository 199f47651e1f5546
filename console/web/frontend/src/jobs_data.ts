// What the server sends about jobs, and the hook that keeps it up to date.

import { useEffect, useState } from "preact/hooks";
import { Refused, follow } from "./api";

export interface Job {
  name: string;
  id: string;
  state: "starting" | "running" | "recovering" | "waiting" | "finished" | "failed" | "stopped";
  workers: number;
  auto: boolean;
  tick_seconds: number;
  process: number | null;
  phase: string | null;
  epoch: number | null;
  counters: Record<string, number>;
  min_time: string | null;
  held_by: string | null;
  held_seconds: number | null;
  snapshot_age_seconds: number | null;
  failures: number;
  why: string[];
  rates: { rows_in: number; rows_out: number } | null;
  latency: { median: number; p99: number } | null;
}

/** Time, rows in and out per second, seconds behind, rows of state, median and p99 latency. */
export type Point = [number, number | null, number | null, number, number, number | null, number | null];

export interface Statistics {
  interval: number;
  collector: string;
  age: number;
  heavy: { operator: string; side: number; key: string; share: number; error: number }[];
  costs: {
    operator: string;
    rows_per_second: number;
    calls_per_second: number;
    busy: number;
    seconds_per_row: number | null;
    seconds_per_call: number | null;
    selectivity: number | null;
  }[];
  folds: {
    operator: string;
    policy: string;
    redone: number | null;
    held: number | null;
    state_rows: number;
    state_bytes: number;
    rewinds_per_second: number;
    wait_seconds: number | null;
  }[];
  fronts: {
    table: string;
    split: number;
    rows_per_second: number;
    bytes_per_second: number;
    lag_seconds: number;
    blocked: number;
  }[];
  workers: { interval: number; worker: number; busy: number }[];
  disorder: { operator: string; waiting: number; batches: number; disordered: number }[];
  latency: { table: string; chunks_per_second: number; median: number; p99: number }[];
  links: { worker: number; peer: number; frames_per_second: number; bytes_per_second: number; resent: number | null; busy: number }[];
  problems: string[];
}

interface Message {
  at: number;
  problem: string | null;
  directory: string;
  jobs: Job[];
  history: Record<string, Point[]>;
  statistics?: Statistics;
}

export interface Jobs {
  at: number;
  problem: string | null;
  directory: string;
  jobs: Job[];
  history: Record<string, Point[]>;
  statistics: Statistics | null;
}

export type Connection = "connecting" | "live" | "lost" | "over";

const POINTS = 900;
const RETRY_MS = 1500;

function merged(before: Jobs | null, message: Message): Jobs {
  const history: Record<string, Point[]> = {};
  for (const [job, points] of Object.entries(message.history)) {
    const known = before?.history[job] ?? [];
    const last = known.at(-1)?.[0] ?? 0;
    history[job] = points.length > 1 ? points : [...known, ...points.filter((point) => point[0] > last)].slice(-POINTS);
  }
  return { ...message, history, statistics: message.statistics ?? before?.statistics ?? null };
}

/** All jobs, and the statistics of one, as long as the page is visible. */
export function useJobs(job: string | null): [Jobs | null, Connection] {
  const [jobs, setJobs] = useState<Jobs | null>(null);
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    let stopped = new AbortController();
    let timer = 0;
    setJobs((before) => (before === null ? null : { ...before, statistics: null }));
    const begin = () => {
      stopped = new AbortController();
      const path = job === null ? "/api/stream" : `/api/stream?job=${encodeURIComponent(job)}`;
      follow<Message>(
        path,
        (message) => {
          setConnection("live");
          setJobs((before) => merged(before, message));
        },
        stopped.signal,
      ).then(
        () => again("lost"),
        (error: unknown) => {
          if (stopped.signal.aborted) return;
          again(error instanceof Refused && [401, 403].includes(error.status) ? "over" : "lost");
        },
      );
    };
    const again = (state: Connection) => {
      setConnection(state);
      if (state === "lost") timer = window.setTimeout(begin, RETRY_MS);
    };
    const onVisible = () => {
      stopped.abort();
      window.clearTimeout(timer);
      if (!document.hidden) begin();
    };
    document.addEventListener("visibilitychange", onVisible);
    if (!document.hidden) begin();
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      window.clearTimeout(timer);
      stopped.abort();
    };
  }, [job]);
  return [jobs, connection];
}
