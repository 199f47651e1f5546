// Charts of running jobs: what the server tells of all of them on one stream, and the hook of one chart.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Refused, follow, post } from "./api";
import type { LinePlot, Plot } from "./plot";
import type { Column, View } from "./trial";

export interface Result {
  name: string;
  changes_kind: string;
  columns: Column[];
  problem: string | null;
}

/** A line of which the first `kept` points are those of before. */
interface Told {
  name: string;
  kept?: number;
  points: [number, number][];
}

interface Message {
  page?: string;
  chart?: string;
  plot?: Plot;
  job?: string;
  error?: string;
}

interface Shown {
  job: string;
  result: string;
  view: View;
  plot: Plot | null;
  onPlot: (plot: Plot) => void;
  sent: View | null;
}

const RETRY_MS = 1500;
const LINGER_MS = 20_000; // the stream stays from one page to the next
const shown = new Map<string, Shown>();
let stream: AbortController | null = null;
let page: string | null = null;
let numbers = 0;
let retry = 0;
let leaving = 0;
let sending = false;

/** A plot with the points that were told before. */
export function whole(before: Plot | null, plot: Plot): Plot {
  if (plot.kind !== "line") return plot;
  const known = new Map(before?.kind === "line" ? before.series.map((series) => [series.name, series.points]) : []);
  const series = (plot.series as Told[]).map(({ name, kept, points }) => ({ name, points: kept ? [...(known.get(name) ?? []).slice(0, kept), ...points] : points }));
  return { ...plot, series } as LinePlot;
}

function begin() {
  window.clearTimeout(retry);
  window.clearTimeout(leaving);
  if (stream !== null || shown.size === 0 || document.hidden) return;
  const own = new AbortController();
  stream = own;
  const take = (message: Message) => {
    if (own.signal.aborted) return;
    if (message.page !== undefined) {
      page = message.page;
      void send();
      return;
    }
    if (message.error !== undefined) {
      for (const chart of shown.values()) if (chart.job === message.job) chart.onPlot({ kind: "none", problem: message.error });
      return;
    }
    const chart = shown.get(message.chart ?? "");
    if (chart === undefined || message.plot === undefined) return;
    chart.plot = whole(chart.plot, message.plot);
    chart.onPlot(chart.plot);
  };
  const again = () => {
    if (own.signal.aborted) return;
    end();
    retry = window.setTimeout(begin, RETRY_MS);
  };
  follow<Message>("/api/charts", take, own.signal, {}).then(again, again);
}

function end() {
  stream?.abort();
  stream = null;
  page = null;
  for (const chart of shown.values()) chart.sent = null;
}

/** Sends the views that have changed, one after the other. */
async function send() {
  if (sending) return;
  sending = true;
  for (;;) {
    const next = [...shown].find(([, chart]) => chart.sent !== chart.view);
    if (next === undefined || page === null) break;
    const [name, chart] = next;
    const view = chart.view;
    if (chart.sent === null) chart.plot = null;
    chart.sent = view;
    try {
      await post("/api/chart", { page, chart: name, job: chart.job, result: chart.result, view });
    } catch (reason) {
      if (reason instanceof Refused) chart.onPlot({ kind: "none", problem: reason.message });
    }
  }
  sending = false;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) end();
  else begin();
});

/** The chart of a result of a job, as long as it is seen. */
export function useJobChart(job: string, result: string, first: View | null) {
  const [plot, setPlot] = useState<Plot | null>(null);
  const [view, setView] = useState<View | null>(first);
  const name = useRef("");
  const now = useRef<View | null>(first);
  const show = useCallback((next: View) => {
    now.current = next;
    setView(next);
    const chart = shown.get(name.current);
    if (chart) {
      chart.view = next;
      void send();
    }
  }, []);
  const wanted = view !== null;
  useEffect(() => {
    if (!wanted) return;
    numbers += 1;
    const own = `c${numbers}`;
    name.current = own;
    shown.set(own, { job, result, view: now.current!, plot: null, onPlot: setPlot, sent: null });
    begin();
    void send();
    return () => {
      shown.delete(own);
      window.clearTimeout(leaving);
      if (shown.size === 0) leaving = window.setTimeout(end, LINGER_MS);
      if (page !== null) void post("/api/chart", { page, chart: own, job, result }).catch(() => undefined);
    };
  }, [job, result, wanted]);
  return { plot, view, viewNow: () => now.current, show };
}
