// The results of a running job: what it has released, as a table, lines or bars.

import { useEffect, useState } from "preact/hooks";
import { type Result, useJobChart } from "./charts";
import { count } from "./format";
import { Callout } from "./parts";
import { Bars, Lines, type Plot } from "./plot";
import { type View, defaultView } from "./trial";
import { Rows, ViewChoice, pinPlot } from "./write";

const NOT_SHOWN = "op";

/** What of a result is drawn at first. */
export function firstView(result: Result): View {
  const view = defaultView(result.columns, result.changes_kind === "append" ? null : NOT_SHOWN);
  return view.y === "" ? { ...view, kind: "table" } : view;
}

/** What a chart shows, whatever it is. */
export function Drawing({ plot, view, columns, label, onView }: { plot: Plot | null; view: View; columns: Result["columns"]; label: string; onView: (width: number, range: { start: number | null; end: number | null }) => void }) {
  return (
    <>
      {plot === null ? <p class="muted loading" role="status">Reading …</p> : null}
      {plot?.kind === "none" ? <Callout kind="note">{plot.problem}</Callout> : null}
      {view.kind === "line" ? <Lines plot={plot?.kind === "line" ? plot : null} label={label} onView={onView} /> : null}
      {view.kind === "bar" && plot?.kind === "bar" ? <Bars {...plot} /> : null}
      {view.kind === "table" && plot?.kind === "table" ? <Rows columns={columns} operation={null} rows={plot.rows} note={plot.row_count > plot.rows.length ? `the newest ${count(plot.rows.length)} of ${count(plot.row_count)} rows` : `${count(plot.row_count)} row${plot.row_count === 1 ? "" : "s"}`} /> : null}
    </>
  );
}

function ResultPanel({ job, jobName, result }: { job: string; jobName: string; result: Result }) {
  const chart = useJobChart(job, result.name, result.problem === null ? firstView(result) : null);
  const [kept, setKept] = useState(false);
  const { view } = chart;
  return (
    <section class="panel result" aria-label={`Result ${result.name}`}>
      <header>
        <h2>{result.name}</h2>
        <p class="muted">{result.changes_kind === "append" ? "rows are added" : "rows are updated"}; as of what the job has released</p>
        {view ? <button type="button" class="quiet" onClick={() => { pinPlot({ title: `${jobName}: ${result.name}`, job, result: result.name, view: { ...view, start: null, end: null } }); setKept(true); }}>{kept ? "Kept in Plots" : "Keep in Plots"}</button> : null}
      </header>
      {result.problem ? <p class="line muted">{result.problem}</p> : null}
      {view ? (
        <div class="plot-area">
          <ViewChoice columns={result.columns} view={view} onView={chart.show} ofJob />
          <Drawing plot={chart.plot} view={view} columns={result.columns} label={`${result.name}: ${view.y} over ${view.x ?? "row number"}`} onView={(width, range) => chart.show({ ...(chart.viewNow() ?? view), width, ...range })} />
        </div>
      ) : null}
    </section>
  );
}

export function Results({ job, jobName, results }: { job: string; jobName: string; results: Result[] }) {
  const [chosen, setChosen] = useState(results.find((result) => result.problem === null)?.name ?? results[0]?.name ?? "");
  useEffect(() => {
    if (!results.some((result) => result.name === chosen)) setChosen(results[0]?.name ?? "");
  }, [results]);
  const result = results.find((each) => each.name === chosen);
  return (
    <div class="stack">
      {results.length > 1 ? (
        <div class="segments wrap" role="group" aria-label="Results">
          {results.map((each) => <button type="button" key={each.name} aria-pressed={each.name === chosen} onClick={() => setChosen(each.name)}>{each.name}</button>)}
        </div>
      ) : null}
      {result ? <ResultPanel key={result.name} job={job} jobName={jobName} result={result} /> : null}
    </div>
  );
}
