// A small line over time, drawn on a canvas.

import { useEffect, useRef } from "preact/hooks";

export interface SparkProps {
  /** Pairs of a time and a value, by time; null where nothing is known. */
  points: (readonly [number, number | null])[];
  label: string;
  colour?: string;
  span?: number;
}

const GAP_SECONDS = 12;
const LEAST_SECONDS = 30;

export function Spark({ points, label, colour = "--accent", span = 300 }: SparkProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const paint = () => draw(element, points, colour, span);
    paint();
    const observer = new ResizeObserver(paint);
    observer.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", paint);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", paint);
    };
  });
  return <canvas ref={canvas} class="spark" role="img" aria-label={label} />;
}

function draw(canvas: HTMLCanvasElement, points: SparkProps["points"], colour: string, longest: number) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.scale(ratio, ratio);
  const end = points.at(-1)?.[0] ?? 0;
  const known = end - (points.find((point) => point[1] !== null)?.[0] ?? end);
  const span = Math.min(longest, Math.max(LEAST_SECONDS, known));
  const shown = points.filter((point) => point[0] >= end - span && point[1] !== null) as [number, number][];
  if (shown.length < 2) return;
  const stroke = getComputedStyle(canvas).getPropertyValue(colour).trim();
  const most = Math.max(...shown.map((point) => point[1])) * 1.1 || 1;
  const x = (at: number) => width - 1.5 - ((end - at) / span) * (width - 3);
  const y = (value: number) => height - 2 - (value / most) * (height - 5);
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.strokeStyle = stroke;
  context.fillStyle = stroke;
  let from = 0;
  for (let index = 1; index <= shown.length; index += 1) {
    const gap = index === shown.length || shown[index]![0] - shown[index - 1]![0] > GAP_SECONDS;
    if (!gap) continue;
    const part = shown.slice(from, index);
    from = index;
    context.beginPath();
    part.forEach(([at, value], number) => (number === 0 ? context.moveTo(x(at), y(value)) : context.lineTo(x(at), y(value))));
    context.stroke();
    context.lineTo(x(part.at(-1)![0]), height);
    context.lineTo(x(part[0]![0]), height);
    context.globalAlpha = 0.1;
    context.fill();
    context.globalAlpha = 1;
  }
}
