// A tick plan as a graph: sources, folds and sinks, with the steps between them.

export interface PlanHead {
  operation: string;
  table?: string;
  keys?: string[];
  aggregates?: string[];
  operator_id?: string;
  policy?: string;
  [detail: string]: unknown;
}

export interface PlanStep {
  function: string;
  origin: string;
  [detail: string]: unknown;
}

export interface Plan {
  stages: {
    head: PlanHead;
    steps: PlanStep[];
    sends: { step: string; stage?: number; side?: number; exchanged_by?: string[]; sink?: number; late_rows?: number }[];
  }[];
  sinks: { table: string; changes: string; key: string[] | null }[];
  reasons: string[];
  last_tick: { tick: number; reason: string; difference: string[] } | null;
  next_tick: { reasons: string[]; difference: string[]; problems: string[]; statistics: string };
}

export interface GraphNode {
  id: string;
  kind: "source" | "fold" | "sink";
  title: string;
  detail: string;
  steps: string[];
  operator: string | null;
  table: string | null;
  policy: string | null;
  layer: number;
  row: number;
}

export interface GraphEdge {
  from: string;
  to: string;
  label: string;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  layers: GraphNode[][];
}

function foldTitle(head: PlanHead): string {
  const kind = head.operation.replace(/^Fold (Combine)?/, "");
  if (kind === "Aggregate") return head.keys?.length ? `Group by ${head.keys.join(", ")}` : "Aggregate";
  return kind.replace(/([a-z])([A-Z])/g, "$1 $2");
}

function foldDetail(head: PlanHead): string {
  if (head.aggregates?.length) return head.aggregates.join(", ");
  const shown = ["condition", "predicate", "left_keys", "order", "limit", "keys"].map((name) => head[name]).find((value) => value !== undefined && value !== null);
  return Array.isArray(shown) ? shown.join(", ") : typeof shown === "string" ? shown : "";
}

/** The operators of SQL that the steps of a stage carry out, each once. */
function stepNames(steps: PlanStep[]): string[] {
  const names = steps.map((step) => step.origin).filter((origin) => origin !== "Project" && !origin.startsWith("Scan "));
  return [...new Set(names)];
}

export function graphOf(plan: Plan): Graph {
  const nodes: GraphNode[] = plan.stages.map((stage, number) => {
    const { head } = stage;
    const source = head.operation === "Source";
    return {
      id: `stage-${number}`,
      kind: source ? "source" : "fold",
      title: source ? (head.table ?? "source") : foldTitle(head),
      detail: source ? "" : foldDetail(head),
      steps: stepNames(stage.steps),
      operator: head.operator_id ?? null,
      table: source ? (head.table ?? null) : null,
      policy: head.policy ?? null,
      layer: 0,
      row: 0,
    };
  });
  const edges: GraphEdge[] = [];
  for (const [number, sink] of plan.sinks.entries()) {
    nodes.push({
      id: `sink-${number}`,
      kind: "sink",
      title: sink.table,
      detail: sink.key ? `${sink.changes} by ${sink.key.join(", ")}` : sink.changes,
      steps: [],
      operator: null,
      table: sink.table,
      policy: null,
      layer: 0,
      row: 0,
    });
  }
  const known = new Map<string, GraphEdge>();
  for (const [number, stage] of plan.stages.entries()) {
    for (const send of stage.sends) {
      const to = send.stage !== undefined ? `stage-${send.stage}` : send.sink !== undefined ? `sink-${send.sink}` : null;
      if (to === null) continue;
      const label = send.exchanged_by?.length ? `by ${send.exchanged_by.join(", ")}` : "";
      const key = `stage-${number} ${to}`;
      const edge = known.get(key);
      if (edge === undefined) {
        known.set(key, { from: `stage-${number}`, to, label });
        edges.push(known.get(key)!);
      } else if (label && !edge.label.includes(label)) edge.label = edge.label ? `${edge.label}; ${label}` : label;
    }
  }
  return layered(nodes, edges);
}

function layered(nodes: GraphNode[], edges: GraphEdge[]): Graph {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (let round = 0; round < nodes.length; round += 1) {
    let changed = false;
    for (const edge of edges) {
      const [from, to] = [byId.get(edge.from)!, byId.get(edge.to)!];
      if (to.layer <= from.layer && from.layer < nodes.length) {
        to.layer = from.layer + 1;
        changed = true;
      }
    }
    if (!changed) break;
  }
  const last = Math.max(...nodes.map((node) => node.layer));
  for (const node of nodes) if (node.kind === "sink") node.layer = last;
  const layers: GraphNode[][] = Array.from({ length: last + 1 }, (_, layer) => nodes.filter((node) => node.layer === layer));
  for (const layer of layers) {
    const middle = (node: GraphNode) => {
      const before = edges.filter((edge) => edge.to === node.id).map((edge) => byId.get(edge.from)!.row);
      return before.length ? before.reduce((sum, row) => sum + row, 0) / before.length : node.row;
    };
    layer.forEach((node, row) => (node.row = row));
    if (layer !== layers[0]) layer.sort((a, b) => middle(a) - middle(b) || Number(a.id.split("-")[1]) - Number(b.id.split("-")[1]));
    layer.forEach((node, row) => (node.row = row));
  }
  return { nodes, edges, layers };
}
