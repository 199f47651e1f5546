// A chart: lines by the points that the server keeps for its pixels, or bars.  Zoom and pan ask the server again.

import { useEffect, useRef, useState } from "preact/hooks";
import { counted, short } from "./format";

export interface LinePlot {
  kind: "line";
  start: number;
  end: number;
  range: [number, number];
  series: { name: string; points: [number, number][] }[];
  more: number;
  count: number;
  time: boolean;
}

export type Plot = LinePlot | { kind: "bar"; bars: [string, number][]; more: number } | { kind: "table"; rows: Record<string, unknown>[]; row_count: number } | { kind: "none"; problem: string };

export interface Range {
  start: number | null;
  end: number | null;
}

const LEFT = 58;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 26;
const COLOURS = ["--accent", "--good", "--warm", "--bad", "--series-5", "--series-6", "--series-7", "--series-8"];

function niceStep(span: number, parts: number): number {
  const raw = span / parts;
  const size = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= raw) ?? raw;
}

const TIME_STEPS = [1e-3, 1e-2, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 31_536_000];

function timeText(at: number, step: number): string {
  const when = new Date(at * 1000).toISOString();
  if (step >= 86_400) return when.slice(0, 10);
  return step >= 60 ? when.slice(11, 16) : step >= 1 ? when.slice(11, 19) : when.slice(11, 23);
}

/** A number of an axis, with as many decimals as its step has. */
function axisText(value: number, step: number): string {
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return Math.abs(value) >= 10_000 ? short(Number(value.toPrecision(10))) : value.toFixed(decimals);
}

function ticks(low: number, high: number, step: number): number[] {
  const found: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high && found.length < 40; at += step) found.push(at);
  return found;
}

function drawLines(canvas: HTMLCanvasElement, plot: LinePlot) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d");
  if (context === null || width < 80) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const inside = { width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
  const values = plot.series.flatMap((series) => series.points.map((point) => point[1]));
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  if (low > 0 && low < 0.4 * high) low = 0;
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const pad = (high - low) * 0.06;
  high += pad;
  if (low !== 0) low -= pad;
  const span = plot.end - plot.start;
  // The middle of a column of pixels: so the points that the server keeps colour the pixels of all points.
  const x = (offset: number) => LEFT + Math.floor(offset * (inside.width / span)) + 0.5;
  const y = (value: number) => TOP + (1 - (value - low) / (high - low)) * inside.height;
  context.font = `12px ${style.fontFamily}`;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const rise = niceStep(high - low, 5);
  for (const at of ticks(low, high, rise)) {
    context.strokeStyle = colour("--line");
    context.beginPath();
    context.moveTo(LEFT, Math.round(y(at)) + 0.5);
    context.lineTo(width - RIGHT, Math.round(y(at)) + 0.5);
    context.stroke();
    context.fillStyle = colour("--muted");
    context.fillText(axisText(at, rise), LEFT - 8, y(at));
  }
  const wanted = Math.max(2, inside.width / 110);
  const step = plot.time ? (TIME_STEPS.find((each) => span / each <= wanted) ?? span / wanted) : niceStep(span, wanted);
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const at of ticks(plot.start, plot.end, step)) {
    const left = x(at - plot.start);
    if (left < LEFT + 20 || left > width - RIGHT - 20) continue;
    context.fillText(plot.time ? timeText(at, step) : axisText(at, step), left, height - 7);
  }
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, inside.width, height - BOTTOM + 2);
  context.clip();
  context.lineWidth = 1.75;
  context.lineJoin = "round";
  plot.series.forEach((series, index) => {
    context.strokeStyle = colour(COLOURS[index % COLOURS.length]!);
    context.beginPath();
    series.points.forEach(([offset, value], number) => (number === 0 ? context.moveTo(x(offset), y(value)) : context.lineTo(x(offset), y(value))));
    context.stroke();
    if (series.points.length === 1) {
      const [offset, value] = series.points[0]!;
      context.fillStyle = context.strokeStyle;
      context.fillRect(x(offset) - 2, y(value) - 2, 4, 4);
    }
  });
  context.restore();
  canvas.dataset.points = String(plot.series.reduce((sum, series) => sum + series.points.length, 0));
}

/** A chart of lines; `onView` is called with the width in pixels and the range of x that is to be shown. */
export function Lines({ plot, label, onView }: { plot: LinePlot | null; label: string; onView: (width: number, range: Range) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const range = useRef<Range>({ start: null, end: null });
  const dragged = useRef<{ x: number; start: number; end: number } | null>(null);
  const [zoomed, setZoomed] = useState(false);
  const shown = useRef(plot);
  shown.current = plot;

  const ask = (next: Range) => {
    range.current = next;
    setZoomed(next.start !== null);
    onView(Math.max(50, (canvas.current?.clientWidth ?? 800) - LEFT - RIGHT), next);
  };
  useEffect(() => {
    const element = canvas.current!;
    let width = 0;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== width) {
        width = element.clientWidth;
        ask(range.current);
      }
      if (shown.current) drawLines(element, shown.current);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && plot) drawLines(canvas.current, plot);
  });

  const zoom = (factor: number, at = 0.5) => {
    const now = shown.current;
    if (now === null) return;
    const span = (now.end - now.start) * factor;
    if (factor > 1 && span >= (now.range[1] - now.range[0]) * 1.02) return ask({ start: null, end: null });
    const start = now.start + (now.end - now.start) * at - span * at;
    ask({ start, end: start + span });
  };
  const pan = (share: number) => {
    const now = shown.current;
    if (now === null) return;
    const by = (now.end - now.start) * share;
    ask({ start: now.start + by, end: now.end + by });
  };
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.shiftKey && !event.metaKey) return;
    event.preventDefault();
    const box = canvas.current!.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT))));
  };
  const onPointerMove = (event: PointerEvent) => {
    if (dragged.current === null) return;
    const { x, start, end } = dragged.current;
    const by = ((x - event.clientX) / (canvas.current!.clientWidth - LEFT - RIGHT)) * (end - start);
    ask({ start: start + by, end: end + by });
  };
  const keys: Record<string, () => void> = {
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), "0": () => ask({ start: null, end: null }),
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
  };
  return (
    <figure class="chart">
      <div class="tools">
        <span class="muted count">{plot ? counted(plot.count, "point") : ""}</span>
        <button type="button" class="plain" onClick={() => zoom(0.6)} aria-label="Zoom in" title="Zoom in (+)"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 3v10M3 8h10" /></svg></button>
        <button type="button" class="plain" onClick={() => zoom(1.7)} aria-label="Zoom out" title="Zoom out (−)" disabled={!zoomed}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M3 8h10" /></svg></button>
        <button type="button" class="plain" onClick={() => ask({ start: null, end: null })} aria-label="Show all" title="Show all (0)" disabled={!zoomed}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10" /></svg></button>
      </div>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={label}
        title="Drag to move, Ctrl and wheel to zoom; keys + - 0 and arrows"
        onWheel={onWheel}
        onKeyDown={(event) => {
          const action = keys[event.key];
          if (action) {
            event.preventDefault();
            action();
          }
        }}
        onPointerDown={(event) => {
          if (shown.current === null) return;
          dragged.current = { x: event.clientX, start: shown.current.start, end: shown.current.end };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={onPointerMove}
        onPointerUp={() => (dragged.current = null)}
      />
      {plot && (plot.series.length > 1 || plot.series[0]?.name) ? (
        <figcaption>
          {plot.series.map((series, index) => (
            <span key={series.name}><i style={{ background: `var(${COLOURS[index % COLOURS.length]})` }} />{series.name}</span>
          ))}
          {plot.more > 0 ? <span class="muted">and {plot.more} more</span> : null}
        </figcaption>
      ) : null}
    </figure>
  );
}

export function Bars({ bars, more }: { bars: [string, number][]; more: number }) {
  const most = Math.max(...bars.map((bar) => Math.abs(bar[1])), 1e-300);
  return (
    <div class="bars" role="img" aria-label={bars.slice(0, 10).map(([name, value]) => `${name}: ${value}`).join(", ")}>
      {bars.map(([name, value]) => (
        <div key={name} class="row">
          <span class="name" title={name}>{name}</span>
          <span class="track"><span class={value < 0 ? "negative" : ""} style={{ width: `${(Math.abs(value) / most) * 100}%` }} /></span>
          <span class="number">{Number(value.toPrecision(7)).toLocaleString("en")}</span>
        </div>
      ))}
      {more > 0 ? <p class="muted">and {more} more</p> : null}
    </div>
  );
}
