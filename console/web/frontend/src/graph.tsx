// The graph of a job: boxes in layers, from left to right, or downwards where the page is narrow.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, counted, percent, seconds, short } from "./format";
import type { Job, Statistics } from "./jobs_data";
import { Bar } from "./parts";
import { type Graph, type GraphNode, type Plan, graphOf } from "./plan";

const WIDTH_MAX = 232;
const WIDTH_MIN = 176;
const HEIGHT = 132;
const ACROSS_MAX = 74;
const ACROSS_MIN = 36;
const DOWN = 22;

/** Widths of the boxes and of the space between them: as wide as fit; beyond that, the graph is scrolled. */
function widths(layers: number, available: number): { width: number; across: number } {
  const gaps = Math.max(1, layers - 1);
  const across = Math.max(ACROSS_MIN, Math.min(ACROSS_MAX, Math.floor((available - layers * WIDTH_MAX) / gaps)));
  const width = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, Math.floor((available - (layers - 1) * across) / layers)));
  return { width, across };
}

interface Load {
  rows: number | null;
  busy: number | null;
  facts: string[];
}

function loadOf(node: GraphNode, statistics: Statistics | null): Load {
  if (statistics === null) return { rows: null, busy: null, facts: [] };
  if (node.kind === "source") {
    const fronts = statistics.fronts.filter((front) => front.table === node.table);
    if (fronts.length === 0) return { rows: null, busy: null, facts: [] };
    const lag = Math.max(...fronts.map((front) => front.lag_seconds));
    const blocked = Math.max(...fronts.map((front) => front.blocked));
    const facts = [counted(fronts.length, "split"), `lag ${seconds(lag)}`];
    if (blocked > 0.01) facts.push(`blocked ${percent(blocked)}`);
    return { rows: fronts.reduce((sum, front) => sum + front.rows_per_second, 0), busy: null, facts };
  }
  if (node.kind === "sink") return { rows: null, busy: null, facts: [] };
  const cost = statistics.costs.find((each) => each.operator === node.operator);
  const fold = statistics.folds.find((each) => each.operator === node.operator);
  const waiting = statistics.disorder.filter((each) => each.operator === node.operator).reduce((sum, each) => sum + each.waiting, 0);
  const facts: string[] = [];
  if (fold) facts.push(`${counted(fold.state_rows, "row")}, ${bytes(fold.state_bytes)}`);
  if (waiting >= 1) facts.push(`${short(waiting)} waiting`);
  if (fold?.redone && fold.redone > 0.001) facts.push(`${percent(fold.redone)} recomputed`);
  return { rows: cost?.rows_per_second ?? null, busy: cost?.busy ?? null, facts };
}

/** Whether the split that holds output back is one of this source: "bids (bids.jsonl)". */
export function holds(node: GraphNode, job: Job): boolean {
  return node.kind === "source" && job.held_by !== null && (job.held_by === node.table || job.held_by.startsWith(`${node.table} (`));
}

function Box({ node, job, statistics, style }: { node: GraphNode; job: Job; statistics: Statistics | null; style: Record<string, string> }) {
  const load = loadOf(node, statistics);
  const holder = job.process !== null && holds(node, job);
  const idle = holder && (job.held_seconds ?? 0) >= 5;
  const kinds = { source: "source", fold: node.policy ?? "fold", sink: "sink" };
  return (
    <li class={`node ${node.kind}${idle ? " holder" : ""}`} style={style}>
      <p class="kind">
        {kinds[node.kind]}
        {holder ? <span class="hold">{idle ? `holds output: idle ${seconds(job.held_seconds)}` : "sets min time"}</span> : null}
      </p>
      <h3 title={node.title}>{node.title}</h3>
      {node.detail ? (
        <p class="detail" title={node.detail}>
          {node.detail}
        </p>
      ) : null}
      {node.steps.length ? (
        <p class="detail" title={node.steps.join(", ")}>
          then {node.steps.join(", ")}
        </p>
      ) : null}
      {load.rows !== null ? (
        <p class="load">
          <strong>{short(load.rows)}</strong> rows/s
          {load.busy !== null ? <Bar share={load.busy} label={percent(load.busy)} /> : null}
        </p>
      ) : null}
      {load.facts.length ? <p class="facts">{load.facts.join(" · ")}</p> : null}
    </li>
  );
}

export function GraphView({ plan, job, statistics }: { plan: Plan; job: Job; statistics: Statistics | null }) {
  const graph = graphOf(plan);
  const frame = useRef<HTMLDivElement>(null);
  const [available, setAvailable] = useState(1000);
  const narrow = available < 560;
  useEffect(() => {
    const observer = new ResizeObserver((entries) => setAvailable(entries[0]?.contentRect.width ?? 1000));
    if (frame.current) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return (
    <section class="panel">
      <header>
        <h2>Operators</h2>
        <p class="muted">{job.min_time ? `min time ${job.min_time}` : "no min time yet"}{job.held_by ? `, held by ${job.held_by}` : ""}</p>
      </header>
      <div class="graph" ref={frame} tabIndex={0} role="region" aria-label="Graph of operators">
        {narrow ? <Column graph={graph} job={job} statistics={statistics} /> : <Layers graph={graph} job={job} statistics={statistics} available={available} />}
      </div>
    </section>
  );
}

function Column({ graph, job, statistics }: { graph: Graph; job: Job; statistics: Statistics | null }) {
  return (
    <ol class="column">
      {graph.layers.flat().map((node) => (
        <Box key={node.id} node={node} job={job} statistics={statistics} style={{}} />
      ))}
    </ol>
  );
}

function Layers({ graph, job, statistics, available }: { graph: Graph; job: Job; statistics: Statistics | null; available: number }) {
  const { width: boxWidth, across } = widths(graph.layers.length, available);
  const rows = Math.max(...graph.layers.map((layer) => layer.length));
  const height = rows * (HEIGHT + DOWN) - DOWN;
  const width = graph.layers.length * (boxWidth + across) - across;
  const place = (node: GraphNode) => {
    const layer = graph.layers[node.layer]!;
    const own = layer.length * (HEIGHT + DOWN) - DOWN;
    return { x: node.layer * (boxWidth + across), y: (height - own) / 2 + node.row * (HEIGHT + DOWN) };
  };
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  return (
    <div class="canvas" style={{ width: `${width}px`, height: `${height}px` }}>
      <svg width={width} height={height} aria-hidden="true">
        {graph.edges.map((edge) => {
          const [from, to] = [place(byId.get(edge.from)!), place(byId.get(edge.to)!)];
          const [x1, y1, x2, y2] = [from.x + boxWidth, from.y + HEIGHT / 2, to.x - 5, to.y + HEIGHT / 2];
          const middle = (x1 + x2) / 2;
          return (
            <g key={`${edge.from} ${edge.to}`}>
              <path class="edge" d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`} />
              <path class="head" d={`M${x2} ${y2 - 4}l6 4-6 4z`} />
              <title>{edge.label}</title>
            </g>
          );
        })}
      </svg>
      <ol>
        {graph.nodes.map((node) => {
          const { x, y } = place(node);
          return <Box key={node.id} node={node} job={job} statistics={statistics} style={{ left: `${x}px`, top: `${y}px`, width: `${boxWidth}px`, height: `${HEIGHT}px` }} />;
        })}
      </ol>
    </div>
  );
}
