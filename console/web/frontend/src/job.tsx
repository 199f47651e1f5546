// The page of one job.

import { useEffect, useState } from "preact/hooks";
import { Refused, get, post } from "./api";
import { bytes, clock, count, day, operator, percent, seconds, short } from "./format";
import { GraphView } from "./graph";
import { line, loudness, troubles } from "./jobs";
import type { Job, Jobs, Point, Statistics } from "./jobs_data";
import type { Result } from "./charts";
import { Bar, Callout, Confirm, Empty, Link, Pill, Sentence, Table, Tabs } from "./parts";
import { type Plan, graphOf } from "./plan";
import { Results } from "./results";

interface PlanAnswer {
  script: string;
  plan: Plan;
  text: string;
}

/** What the server answers about a job, asked again when `key` changes, or every `every` seconds. */
function useAnswer<T>(path: string, key: string, every = 0): [T | null, Refused | null] {
  const [answer, setAnswer] = useState<T | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  useEffect(() => {
    const stopped = new AbortController();
    const ask = () => {
      if (document.hidden) return;
      get<T>(path, stopped.signal).then(
        (found) => {
          setAnswer(found);
          setError(null);
        },
        (reason: unknown) => {
          if (!stopped.signal.aborted && reason instanceof Refused) setError(reason);
        },
      );
    };
    ask();
    const timer = every ? window.setInterval(ask, every * 1000) : 0;
    return () => {
      stopped.abort();
      window.clearInterval(timer);
    };
  }, [path, key, every]);
  return [answer, error];
}

function Tile({ label, value, unit, children }: { label: string; value: string; unit?: string; children?: preact.ComponentChildren }) {
  return (
    <div class="tile panel">
      <dt>{label}</dt>
      <dd>
        {value}
        {unit && value !== "–" ? <span class="unit">{unit}</span> : null}
      </dd>
      {children ? <dd class="plot">{children}</dd> : null}
    </div>
  );
}

function Tiles({ job, history }: { job: Job; history: Point[] }) {
  const { counters } = job;
  const known = Object.keys(counters).length > 0;
  return (
    <dl class="tiles">
      <Tile label="Rows in" value={job.rates ? short(job.rates.rows_in) : "–"} unit="/s">
        {line(history, 1, "rows in per second, last 5 minutes")}
      </Tile>
      <Tile label="Rows out" value={job.rates ? short(job.rates.rows_out) : "–"} unit="/s">
        {line(history, 2, "rows out per second, last 5 minutes")}
      </Tile>
      <Tile label="Behind" value={known && job.process !== null ? seconds((counters.behind_us ?? 0) / 1e6) : "–"}>
        {line(history, 3, "seconds behind, last 5 minutes", "--warm")}
      </Tile>
      <Tile label="Latency p50 / p99" value={job.latency ? `${seconds(job.latency.median)} / ${seconds(job.latency.p99)}` : "–"}>
        {line(history, 6, "p99 latency, last 5 minutes", "--warm")}
      </Tile>
      <Tile label="State" value={known ? short(counters.rows_state) : "–"} unit={counters.rows_state === 1 ? " row" : " rows"}>
        {line(history, 4, "rows of state, last 5 minutes")}
      </Tile>
    </dl>
  );
}

function Facts({ job }: { job: Job }) {
  const { counters } = job;
  const facts: [string, string][] = [
    ["workers", String(job.workers)],
    ["rows in", count(counters.rows_in)],
    ["rows out", count(counters.rows_out)],
    ["late", count(counters.rows_late)],
    ["rejected", count(counters.rows_rejected)],
    ["not released", count(counters.rows_unreleased)],
    ["snapshots", count(counters.snapshots)],
    ["snapshot age", seconds(job.snapshot_age_seconds)],
    ["recoveries", count(counters.recoveries)],
    ["epoch", count(job.epoch)],
  ];
  return (
    <dl class="facts-line">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Operators({ statistics, plan }: { statistics: Statistics | null; plan: Plan | null }) {
  if (statistics === null) return <Empty title="No statistics yet">Workers write them every few seconds.</Empty>;
  const intervals = [...new Set(statistics.workers.map((row) => row.interval))].sort((a, b) => a - b);
  const workers = [...new Set(statistics.workers.map((row) => row.worker))].sort((a, b) => a - b);
  const busyOf = (worker: number, interval: number) => statistics.workers.find((row) => row.worker === worker && row.interval === interval)?.busy ?? null;
  const newest = intervals.at(-1) ?? 0;
  const heavy = [...statistics.heavy].sort((a, b) => b.share - a.share).slice(0, 12);
  const titles = new Map((plan === null ? [] : graphOf(plan).nodes).map((node) => [node.operator, node.title]));
  const named = (id: string) => titles.get(id) ?? operator(id);
  const source = `${statistics.collector}, ${statistics.age === 0 ? "newest" : `${statistics.age} intervals old`}`;
  return (
    <div class="grid">
      {statistics.problems.map((problem) => (
        <Callout kind="warning" key={problem}>
          {problem}
        </Callout>
      ))}
      <div class="stack">
      <Table caption="Operators" note={`statistics: ${source}`} heads={["operator", ["rows/s", "number"], "busy", ["a row", "number"], ["a call", "number"], ["rows out/in", "number"]]}>
        {[...statistics.costs].sort((a, b) => b.busy - a.busy).map((row) => (
          <tr key={row.operator}>
            <th scope="row">{named(row.operator)}</th>
            <td class="number">{count(row.rows_per_second)}</td>
            <td><Bar share={row.busy} label={percent(row.busy)} /></td>
            <td class="number">{seconds(row.seconds_per_row)}</td>
            <td class="number">{seconds(row.seconds_per_call)}</td>
            <td class="number">{row.selectivity === null ? "–" : String(Number(row.selectivity.toPrecision(3)))}</td>
          </tr>
        ))}
      </Table>
      <Table caption="Frequent keys" heads={["into", "key", "of all rows"]}>
        {heavy.map((row) => (
          <tr key={`${row.operator} ${row.side} ${row.key}`}>
            <th scope="row">{named(row.operator)}{row.side ? ", right" : ""}</th>
            <td class="text">{row.key}</td>
            <td><Bar share={row.share} label={percent(row.share)} /></td>
          </tr>
        ))}
      </Table>
      </div>
      <div class="stack">
      <Table caption="State" heads={["fold", "policy", ["rows", "number"], ["bytes", "number"], ["waited", "number"], ["recomputed", "number"], ["rewinds/s", "number"]]}>
        {statistics.folds.map((row) => (
          <tr key={row.operator}>
            <th scope="row">{named(row.operator)}</th>
            <td>{row.policy}</td>
            <td class="number">{count(row.state_rows)}</td>
            <td class="number">{bytes(row.state_bytes)}</td>
            <td class="number">{percent(row.held)}</td>
            <td class="number">{percent(row.redone)}</td>
            <td class="number">{count(row.rewinds_per_second)}</td>
          </tr>
        ))}
      </Table>
      <Table caption="Workers" heads={["worker", "busy", "before"]}>
        {workers.map((worker) => (
          <tr key={worker}>
            <th scope="row">{worker}</th>
            <td><Bar share={busyOf(worker, newest) ?? 0} label={percent(busyOf(worker, newest))} /></td>
            <td>
              <span class="strip" role="img" aria-label={`busy in ${intervals.length} intervals`}>
                {intervals.map((interval) => (
                  <span key={interval} style={{ height: `${Math.max(6, (busyOf(worker, interval) ?? 0) * 100)}%` }} />
                ))}
              </span>
            </td>
          </tr>
        ))}
      </Table>
      <Table caption="Splits" heads={["table", ["split", "number"], ["rows/s", "number"], ["bytes/s", "number"], ["lag", "number"], ["blocked", "number"]]}>
        {statistics.fronts.map((row) => (
          <tr key={`${row.table} ${row.split}`}>
            <th scope="row">{row.table}</th>
            <td class="number">{row.split}</td>
            <td class="number">{count(row.rows_per_second)}</td>
            <td class="number">{bytes(row.bytes_per_second)}</td>
            <td class="number">{seconds(row.lag_seconds)}</td>
            <td class="number">{percent(row.blocked)}</td>
          </tr>
        ))}
      </Table>
      <Table caption="Between workers" heads={["from", "to", ["frames/s", "number"], ["bytes/s", "number"], ["sent again", "number"], ["busy", "number"]]}>
        {statistics.links.map((row) => (
          <tr key={`${row.worker} ${row.peer}`}>
            <th scope="row">worker {row.worker}</th>
            <td>{row.peer < 0 ? "coordinator" : `worker ${row.peer}`}</td>
            <td class="number">{count(row.frames_per_second)}</td>
            <td class="number">{bytes(row.bytes_per_second)}</td>
            <td class="number">{percent(row.resent)}</td>
            <td class="number">{percent(row.busy)}</td>
          </tr>
        ))}
      </Table>
      </div>
    </div>
  );
}

interface Past {
  ticks: { tick: number; state: string; reason: string; proposed_at: number; seconds: number | null; moved_bins: number | null; refused: string; changes: string[] }[];
  problem: string | null;
  events: { ts: number; event: string; [field: string]: unknown }[];
}

interface Moment {
  at: number;
  kind: "tick" | "good" | "bad" | "plain";
  title: string;
  lines: string[];
}

function moments(past: Past): Moment[] {
  const found: Moment[] = past.ticks.map((tick) => ({
    at: tick.proposed_at,
    kind: tick.state === "refused" ? "bad" : "tick",
    title: `Tick ${tick.tick} ${tick.state === "taken" ? `was taken in ${seconds(tick.seconds)}, ${count(tick.moved_bins)} bins moved` : tick.state === "refused" ? "was refused" : "is proposed"}`,
    lines: [tick.refused, tick.reason, ...tick.changes].filter((text) => text !== ""),
  }));
  for (const event of past.events) {
    const text = (name: string) => (typeof event[name] === "string" ? (event[name] as string) : "");
    if (event.event === "phase") {
      const phase = text("phase");
      found.push({ at: event.ts, kind: phase === "running" ? "good" : "plain", title: phase === "running" ? "Running" : phase[0]?.toUpperCase() + phase.slice(1), lines: [`epoch ${String(event.epoch)}`, text("detail")].filter(Boolean) });
    } else if (event.event === "ended") {
      found.push({ at: event.ts, kind: text("outcome") === "failed" ? "bad" : "plain", title: `Ended: ${text("outcome")}`, lines: [text("message")].filter(Boolean) });
    } else if (event.event === "warning") found.push({ at: event.ts, kind: "bad", title: "Warning", lines: [text("message")] });
    else if (event.event === "started") found.push({ at: event.ts, kind: "plain", title: `Started as process ${String(event.pid)}`, lines: [] });
    else found.push({ at: event.ts, kind: "plain", title: event.event, lines: [text("note") || text("command")].filter(Boolean) });
  }
  return found.sort((a, b) => b.at - a.at);
}

function History({ job, plan }: { job: Job; plan: Plan | null }) {
  const [past, error] = useAnswer<Past>(`/api/jobs/${job.id}/past`, `${job.epoch} ${job.phase}`, 3);
  if (error) return <Callout kind="error">{error.message}</Callout>;
  if (past === null) return <p class="muted loading">Reading …</p>;
  const all = moments(past);
  let date = "";
  return (
    <div class="grid">
      {past.problem ? <Callout kind="warning">ticks cannot be read: {past.problem}</Callout> : null}
      <section class="panel">
        <header>
          <h2>What happened</h2>
          <p class="muted">the newest first</p>
        </header>
        <ol class="past">
          {all.map((moment, index) => {
            const own = day(moment.at);
            const heading = own === date ? null : own;
            date = own;
            return (
              <li key={`${moment.at} ${index}`} class={moment.kind}>
                {heading ? <p class="date">{heading}</p> : null}
                <time dateTime={new Date(moment.at * 1000).toISOString()}>{clock(moment.at)}</time>
                <div>
                  <p>{moment.title}</p>
                  {moment.lines.map((text) => (
                    <p class="muted" key={text}>{text.replace(/-[0-9a-f]{12}\b/g, "")}</p>
                  ))}
                </div>
              </li>
            );
          })}
        </ol>
      </section>
      {plan ? (
        <section class="panel">
          <header>
            <h2>The next tick</h2>
            <p class="muted">by the statistics when this page asked: {plan.next_tick.statistics}</p>
          </header>
          <ul class="reasons">
            {[...plan.next_tick.reasons, ...plan.next_tick.difference].map((reason) => (
              <li key={reason}>{reason.replace(/-[0-9a-f]{12}\b/g, "")}</li>
            ))}
          </ul>
        </section>
      ) : null}
    </div>
  );
}

interface RowsAnswer {
  tables: { table: string; kind: "late" | "rejected"; option: string; path: string | null; rows: string[] }[];
}

function RowsNotTaken({ job }: { job: Job }) {
  const [answer, error] = useAnswer<RowsAnswer>(`/api/jobs/${job.id}/rows`, "", 5);
  if (error) return <Callout kind="error">{error.message}</Callout>;
  if (answer === null) return <p class="muted loading">Reading …</p>;
  const counts = { late: job.counters.rows_late ?? 0, rejected: job.counters.rows_rejected ?? 0 };
  return (
    <div class="grid">
      {(["rejected", "late"] as const).map((kind) => (
        <section class="panel" key={kind}>
          <header>
            <h2>{kind === "late" ? "Late rows" : "Rejected rows"}</h2>
            <p class="muted">
              {count(counts[kind])} since the job was deployed: {kind === "late" ? "they came after their window or join was over" : "they could not be read, or an expression failed"}
            </p>
          </header>
          {answer.tables
            .filter((table) => table.kind === kind)
            .map((table) =>
              table.path === null ? (
                counts[kind] > 0 ? (
                  <p class="line muted" key={table.table}>
                    {table.table}: counted and dropped; the option <code>{table.option}</code> keeps them
                  </p>
                ) : null
              ) : (
                <Samples key={table.table} table={table} />
              ),
            )}
        </section>
      ))}
    </div>
  );
}

function Samples({ table }: { table: RowsAnswer["tables"][number] }) {
  return (
    <div class="samples">
      <p class="line">
        <strong>{table.table}</strong> <span class="muted path">{table.path}</span>
      </p>
      {table.rows.length === 0 ? (
        <p class="line muted">none</p>
      ) : (
        <ol class="lines" reversed>
          {[...table.rows].reverse().map((text, index) => (
            <li key={index}>
              <Sample text={text} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Sample({ text }: { text: string }) {
  let fields: Record<string, unknown> | null = null;
  try {
    fields = JSON.parse(text) as Record<string, unknown>;
  } catch {
    fields = null;
  }
  if (fields === null || typeof fields.reason !== "string") return <code>{text}</code>;
  return (
    <>
      <p>
        <span class="code">{String(fields.code ?? "")}</span> {fields.reason}
      </p>
      <p class="muted">
        {String(fields.split ?? "")}, line {String(fields.line ?? "?")} <code>{String(fields.excerpt ?? "")}</code>
      </p>
    </>
  );
}

function Log({ job }: { job: Job }) {
  const [log, error] = useAnswer<{ lines: Record<string, unknown>[] }>(`/api/jobs/${job.id}/log`, "", 2);
  const [processes] = useAnswer<{ processes: { pid: number; role: string; memory_bytes: number; cpu_seconds: number }[] }>(`/api/jobs/${job.id}/processes`, "", 4);
  if (error) return <Callout kind="error">{error.message}</Callout>;
  return (
    <div class="grid">
      <section class="panel">
        <header>
          <h2>Log</h2>
          <p class="muted">the newest first</p>
        </header>
        <ol class="lines log">
          {[...(log?.lines ?? [])].reverse().map((line, index) => {
            const { ts, event, ...rest } = line;
            return (
              <li key={index}>
                <time>{typeof ts === "number" ? clock(ts) : ""}</time> <strong>{String(event)}</strong>{" "}
                <span>{event === "output" ? String(rest.line) : Object.entries(rest).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join("  ")}</span>
              </li>
            );
          })}
        </ol>
      </section>
      <Table caption="Processes" heads={[["pid", "number"], "role", ["memory", "number"], ["processor", "number"]]}>
        {(processes?.processes ?? []).map((row) => (
          <tr key={row.pid}>
            <td class="number">{row.pid}</td>
            <td>{row.role}</td>
            <td class="number">{bytes(row.memory_bytes)}</td>
            <td class="number">{seconds(row.cpu_seconds)}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

function ResultsOf({ job }: { job: Job }) {
  const [answer, error] = useAnswer<{ results: Result[] }>(`/api/jobs/${job.id}/results`, `${job.epoch}`, 5);
  if (error) return <Callout kind="warning">{error.message}</Callout>;
  if (answer === null) return <p class="muted loading">Reading …</p>;
  return <Results job={job.id} jobName={job.name} results={answer.results} />;
}

function ScriptAndPlan({ answer }: { answer: PlanAnswer | null }) {
  if (answer === null) return <p class="muted loading">Compiling …</p>;
  return (
    <div class="grid">
      <section class="panel">
        <header><h2>Script</h2></header>
        <pre tabIndex={0}>{answer.script}</pre>
      </section>
      <section class="panel">
        <header><h2>Plan</h2><p class="muted">stages of the tick plan, and why</p></header>
        <pre tabIndex={0}>{answer.text}</pre>
      </section>
    </div>
  );
}

function Actions({ job }: { job: Job }) {
  const [asked, setAsked] = useState<"stop" | "restart" | null>(null);
  const [waiting, setWaiting] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const onDone = async (action: "stop" | "restart", yes: boolean) => {
    setAsked(null);
    if (!yes) return;
    setWaiting(true);
    setError(null);
    try {
      await post(`/api/jobs/${job.id}/${action}`, {});
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
    setWaiting(false);
  };
  const running = job.process !== null;
  return (
    <div class="actions">
      {error ? <span class="error" role="alert">{error}</span> : null}
      <button type="button" disabled={waiting} onClick={() => setAsked("restart")}>{running ? "Restart" : "Start"}</button>
      {running ? <button type="button" class="danger" disabled={waiting} onClick={() => setAsked("stop")}>{waiting ? "Working …" : "Stop"}</button> : null}
      {asked === "stop" ? (
        <Confirm danger title={`Stop ${job.name}?`} text="It stops at a committed position and keeps its state. It continues there when it is started again." action="Stop it" onDone={(yes) => void onDone("stop", yes)} />
      ) : null}
      {asked === "restart" ? (
        <Confirm title={running ? `Restart ${job.name}?` : `Start ${job.name}?`} text="It continues from its last snapshot. No result is lost or written twice." action={running ? "Restart it" : "Start it"} onDone={(yes) => void onDone("restart", yes)} />
      ) : null}
    </div>
  );
}

export function JobPage({ id, tab, jobs }: { id: string; tab: string; jobs: Jobs | null }) {
  const job = jobs?.jobs.find((each) => each.id === id);
  const [answer, error] = useAnswer<PlanAnswer>(`/api/jobs/${id}/plan`, `${job?.epoch} ${job?.workers}`);
  if (jobs === null) return <p class="muted loading">Reading the cluster directory …</p>;
  if (job === undefined) {
    return (
      <Empty title="This job is gone">
        <p>It was dropped, perhaps. <Link to="/">All jobs</Link></p>
      </Empty>
    );
  }
  const not = (job.counters.rows_late ?? 0) + (job.counters.rows_rejected ?? 0);
  const tabs = [
    { name: "graph", to: `/jobs/${id}`, title: "Graph" },
    { name: "results", to: `/jobs/${id}/results`, title: "Results" },
    { name: "operators", to: `/jobs/${id}/operators`, title: "Operators" },
    { name: "history", to: `/jobs/${id}/history`, title: "History" },
    { name: "rows", to: `/jobs/${id}/rows`, title: "Rows not taken", badge: not ? short(not) : null },
    { name: "log", to: `/jobs/${id}/log`, title: "Log" },
    { name: "script", to: `/jobs/${id}/script`, title: "Script" },
  ];
  const lines = job.state === "finished" ? job.why : troubles(job);
  return (
    <>
      <header class="title">
        <div>
          <p class="crumb"><Link to="/">Jobs</Link></p>
          <h1>{job.name} <Pill state={job.state} /></h1>
        </div>
        <Actions job={job} />
      </header>
      {lines.length ? (
        <Callout kind={loudness(job)}>
          {lines.map((text) => <p key={text}><Sentence text={text} /></p>)}
        </Callout>
      ) : null}
      <Tiles job={job} history={jobs.history[id] ?? []} />
      <Facts job={job} />
      <Tabs tabs={tabs} now={tab} label="Views of the job" />
      {tab === "graph" ? (
        error ? <Callout kind="warning">the plan cannot be read: {error.message}</Callout> : answer ? <GraphView plan={answer.plan} job={job} statistics={jobs.statistics} /> : <p class="muted loading">Compiling …</p>
      ) : null}
      {tab === "results" ? <ResultsOf job={job} /> : null}
      {tab === "operators" ? <Operators statistics={jobs.statistics} plan={answer?.plan ?? null} /> : null}
      {tab === "history" ? <History job={job} plan={answer?.plan ?? null} /> : null}
      {tab === "rows" ? <RowsNotTaken job={job} /> : null}
      {tab === "log" ? <Log job={job} /> : null}
      {tab === "script" ? (error ? <Callout kind="warning">{error.message}</Callout> : <ScriptAndPlan answer={answer} />) : null}
    </>
  );
}
