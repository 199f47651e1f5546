// The page of all jobs.

import { count, counted, seconds, short } from "./format";
import type { Job, Jobs, Point } from "./jobs_data";
import { Callout, Command, Empty, Link, Pill, Sentence } from "./parts";
import { Spark } from "./spark";

const TROUBLE = new Set(["failed", "waiting", "recovering"]);

const BEHIND_SECONDS = 5;

/** Sentences of a job that ask for something; none where all is well. */
export function troubles(job: Job): string[] {
  if (TROUBLE.has(job.state)) return job.why;
  const behind = (job.counters.behind_us ?? 0) / 1e6 >= BEHIND_SECONDS;
  return job.why.filter((line) => (behind || !/ (row was|rows were) read and not released/.test(line)) && !/^(everything that was read|all results)/.test(line));
}

/** How loud the sentences of a job are. */
export function loudness(job: Job): "note" | "warning" | "error" {
  if (job.state === "failed") return "error";
  return job.state === "stopped" || job.state === "finished" ? "note" : "warning";
}

function metric(label: string, value: string, spark?: preact.JSX.Element | null, hint?: string) {
  return (
    <div class="metric" title={hint}>
      <dt>{label}</dt>
      <dd>{value}</dd>
      {spark ? <dd class="plot">{spark}</dd> : null}
    </div>
  );
}

export function line(points: Point[], index: 1 | 2 | 3 | 4 | 5 | 6, label: string, colour?: string) {
  const series = points.map((point) => [point[0], point[index]] as const);
  return <Spark points={series} label={label} {...(colour ? { colour } : {})} />;
}

function Card({ job, history }: { job: Job; history: Point[] }) {
  const known = Object.keys(job.counters).length > 0;
  const runs = job.process !== null;
  const behind = (job.counters.behind_us ?? 0) / 1e6;
  const lines = troubles(job);
  return (
    <li class={`job panel ${job.state}`}>
      <div class="name">
        <h2>
          <Link to={`/jobs/${job.id}`}>{job.name}</Link>
        </h2>
        <Pill state={job.state} />
        <p class="muted">
          {counted(job.workers, "worker")}
          {job.auto ? ", adapts itself" : ""}
        </p>
      </div>
      <dl class="metrics">
        {metric("Rows in", job.rates ? `${short(job.rates.rows_in)}/s` : "–", line(history, 1, "rows in per second, last 5 minutes"), known ? `${count(job.counters.rows_in)} in all` : undefined)}
        {metric("Rows out", job.rates ? `${short(job.rates.rows_out)}/s` : "–", line(history, 2, "rows out per second, last 5 minutes"), known ? `${count(job.counters.rows_out)} in all` : undefined)}
        {metric("Behind", known && runs ? seconds(behind) : "–", line(history, 3, "seconds behind, last 5 minutes", "--warm"), "age of the oldest row that was read and not released")}
        {metric("Latency p50 / p99", job.latency ? `${seconds(job.latency.median)} / ${seconds(job.latency.p99)}` : "–", line(history, 6, "p99 latency, last 5 minutes", "--warm"))}
        {metric("State", known ? counted(job.counters.rows_state ?? 0, "row") : "–")}
        {metric("Snapshot", job.snapshot_age_seconds === null ? "none yet" : `${seconds(job.snapshot_age_seconds)} ago`, null, `${counted(job.counters.snapshots ?? 0, "snapshot")}, ${counted(job.counters.recoveries ?? 0, "recovery", "recoveries")}`)}
      </dl>
      {lines.length > 0 ? (
        <Callout kind={loudness(job)}>
          {lines.map((text) => (
            <p key={text}>
              <Sentence text={text} />
            </p>
          ))}
        </Callout>
      ) : null}
    </li>
  );
}

export function JobsPage({ jobs }: { jobs: Jobs | null }) {
  if (jobs === null) return <p class="muted loading">Reading the cluster directory …</p>;
  const running = jobs.jobs.filter((job) => job.state === "running");
  const needing = jobs.jobs.filter((job) => ["failed", "waiting", "recovering"].includes(job.state));
  const sum = (name: "rows_in" | "rows_out") => running.reduce((total, job) => total + (job.rates?.[name] ?? 0), 0);
  return (
    <>
      <header class="title">
        <div>
          <h1>Jobs</h1>
          <p class="muted path">{jobs.directory}</p>
        </div>
        {jobs.jobs.length > 0 ? (
          <p class="summary">
            <strong>{running.length}</strong> of {jobs.jobs.length} running
            {needing.length > 0 ? <strong class="needs"> · {needing.length} need{needing.length === 1 ? "s" : ""} attention</strong> : null}
            <span class="muted">
              {" "}
              · {short(sum("rows_in"))} rows/s in, {short(sum("rows_out"))} out
            </span>
          </p>
        ) : null}
      </header>
      {jobs.problem ? <Callout kind="error">{jobs.problem}</Callout> : null}
      {jobs.jobs.length === 0 ? (
        <Empty title="No jobs yet">
          <p>A job is a script that an agent keeps running. Start the agent, then deploy a script:</p>
          <p class="commands">
            <Command text={`fsql up --dir ${jobs.directory}`} />
            <Command text={`fsql deploy query.sql --dir ${jobs.directory}`} />
          </p>
        </Empty>
      ) : (
        <ul class="jobs">
          {jobs.jobs.map((job) => (
            <Card key={job.id} job={job} history={jobs.history[job.id] ?? []} />
          ))}
        </ul>
      )}
    </>
  );
}
