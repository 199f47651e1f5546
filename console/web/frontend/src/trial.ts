// A trial: the process that computes a result for this page, and what it has told.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Diagnostic, Refused, follow, post } from "./api";
import type { Plot } from "./plot";

export interface Column {
  name: string;
  type: string;
  role: "number" | "time" | "text";
}

export interface View {
  y: string;
  x: string | null;
  by: string | null;
  kind: "line" | "bar" | "table";
  width: number;
  start: number | null;
  end: number | null;
  /** So much of x up to its end is shown; null for all. */
  last?: number | null;
}

/** A chart that is kept: a result of a script or of a running job, and how it is drawn. */
export type Wanted = WantedTrial | WantedOfJob;

export interface WantedTrial {
  title: string;
  text: string;
  result: number | null;
  view: View;
}

export interface WantedOfJob {
  title: string;
  job: string;
  result: string;
  view: View;
}

type Row = Record<string, unknown>;

interface Message {
  trial?: string;
  columns?: Column[];
  changes_kind?: string;
  operation?: string | null;
  released?: number;
  changes?: Row[];
  rows?: Row[];
  row_count?: number;
  rows_in?: number;
  rows_late?: number;
  rows_rejected?: number;
  plot?: Plot;
  ended?: string;
  error?: string;
  diagnostics?: Diagnostic[];
}

interface State {
  running: boolean;
  begun: boolean;
  columns: Column[];
  operation: string | null;
  released: number;
  changes: Row[];
  rows: Row[];
  rowCount: number;
  rowsIn: number;
  late: number;
  rejected: number;
  plot: Plot | null;
  ended: string;
  error: { message: string; diagnostics: Diagnostic[] } | null;
}

const NOTHING: State = { running: false, begun: false, columns: [], operation: null, released: 0, changes: [], rows: [], rowCount: 0, rowsIn: 0, late: 0, rejected: 0, plot: null, ended: "", error: null };
const CHANGES = 200;

function after(state: State, message: Message): State {
  if (message.error !== undefined) return { ...state, running: false, error: { message: message.error, diagnostics: message.diagnostics ?? [] } };
  if (message.ended !== undefined) return { ...state, running: false, ended: message.ended };
  if (message.columns) return { ...state, begun: true, columns: message.columns, operation: message.operation ?? null };
  if (message.plot) return { ...state, plot: message.plot };
  const found = { ...state, rowsIn: message.rows_in ?? state.rowsIn };
  if (message.released === undefined) return found;
  const changes = [...(message.changes ?? [])].reverse();
  return {
    ...found,
    released: message.released,
    changes: [...changes, ...state.changes].slice(0, CHANGES),
    rows: message.rows ?? [],
    rowCount: message.row_count ?? 0,
    late: message.rows_late ?? 0,
    rejected: message.rows_rejected ?? 0,
  };
}

/** How a result is drawn at first: a number over time, or bars of a result that is updated. */
export function defaultView(columns: Column[], operation: string | null): View {
  const own = columns.filter((column) => column.name !== operation);
  const y = own.find((column) => column.role === "number")?.name ?? "";
  const x = own.find((column) => column.role === "time")?.name ?? null;
  const by = own.find((column) => column.role === "text")?.name ?? null;
  const kind = x === null && operation !== null ? "bar" : "line";
  return { y, x, by, kind, width: 800, start: null, end: null };
}

export function useTrial() {
  const [state, setState] = useState<State>(NOTHING);
  const [view, setView] = useState<View | null>(null);
  const stopping = useRef<AbortController | null>(null);
  const trial = useRef<string | null>(null);
  const wanted = useRef<View | null>(null);
  const sending = useRef(false);

  const stop = useCallback(() => {
    stopping.current?.abort();
    stopping.current = null;
    trial.current = null;
    setState((before) => ({ ...before, running: false, ended: before.ended || (before.begun ? "stopped" : "") }));
  }, []);
  /** Sends the newest view; while one is under way, the next waits. */
  const send = useCallback(async () => {
    if (sending.current) return;
    sending.current = true;
    let sent: View | null = null;
    while (trial.current !== null && wanted.current !== null && sent !== wanted.current) {
      sent = wanted.current;
      try {
        await post("/api/view", { trial: trial.current, view: sent });
      } catch {
        break;
      }
    }
    sending.current = false;
  }, []);
  const show = useCallback((next: View) => {
    wanted.current = next;
    setView(next);
    void send();
  }, [send]);
  const start = useCallback((query: { text: string; result: number | null }) => {
    stopping.current?.abort();
    const own = new AbortController();
    stopping.current = own;
    trial.current = null;
    setState({ ...NOTHING, running: true });
    const take = (message: Message) => {
      if (own.signal.aborted) return;
      if (message.trial !== undefined) {
        trial.current = message.trial;
        return;
      }
      if (message.columns) {
        const names = new Set(message.columns.map((column) => column.name));
        const now = wanted.current;
        if (now && [now.y, now.x, now.by].some((name) => name !== null && !names.has(name))) {
          wanted.current = defaultView(message.columns, message.operation ?? null);
          setView(wanted.current);
        }
        void send();
      }
      setState((before) => after(before, message));
    };
    follow<Message>("/api/run", take, own.signal, { ...query, view: wanted.current }).then(
      () => own.signal.aborted || setState((before) => ({ ...before, running: false })),
      (reason: unknown) => {
        if (own.signal.aborted) return;
        const diagnostics = reason instanceof Refused ? reason.diagnostics : [];
        setState((before) => ({ ...before, running: false, error: { message: reason instanceof Error ? reason.message : String(reason), diagnostics } }));
      },
    );
  }, [send]);
  useEffect(() => () => stopping.current?.abort(), []);
  return { ...state, view, viewNow: () => wanted.current, start, stop, show };
}
