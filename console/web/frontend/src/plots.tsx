// The page of kept charts: each is a trial of its own, and runs while it is seen.

import { useEffect, useRef, useState } from "preact/hooks";
import { useJobChart } from "./charts";
import { counted } from "./format";
import { Callout, Empty, Link } from "./parts";
import { Bars, Lines } from "./plot";
import { Drawing } from "./results";
import { type View, type Wanted, type WantedOfJob, type WantedTrial, useTrial } from "./trial";
import { pinnedPlots, setPinnedPlots } from "./write";

function Remove({ title, onRemove }: { title: string; onRemove: () => void }) {
  return <button type="button" class="plain" aria-label={`Remove the chart ${title}`} title="Remove" onClick={onRemove}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="m4 4 8 8M12 4l-8 8" /></svg></button>;
}

function drawn(view: View): string {
  return view.kind === "table" ? "newest rows" : `${view.y}${view.kind === "line" && view.x ? ` over ${view.x}` : ""}${view.by ? ` by ${view.by}` : ""}`;
}

function KeptOfJob({ wanted, onRemove }: { wanted: WantedOfJob; onRemove: () => void }) {
  const chart = useJobChart(wanted.job, wanted.result, wanted.view);
  const view = chart.view ?? wanted.view;
  const row = chart.plot?.kind === "table" ? chart.plot.rows[0] : undefined;
  const columns = Object.keys(row ?? {}).map((name) => ({ name, type: "", role: typeof row![name] === "number" ? "number" as const : "text" as const }));
  return (
    <section class="panel kept">
      <header>
        <h2><Link to={`/jobs/${wanted.job}/results`}>{wanted.title}</Link></h2>
        <p class="muted">{drawn(view)} · of the running job</p>
        <Remove title={wanted.title} onRemove={onRemove} />
      </header>
      <div class="plot-area">
        <Drawing plot={chart.plot} view={view} columns={columns} label={`${wanted.title}: ${view.y}`} onView={(width, range) => chart.show({ ...(chart.viewNow() ?? view), width, ...range })} />
      </div>
    </section>
  );
}

function KeptTrial({ wanted, onRemove }: { wanted: WantedTrial; onRemove: () => void }) {
  const trial = useTrial();
  const { view } = wanted;
  const started = useRef(false);
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    trial.show(view);
    trial.start({ text: wanted.text, result: wanted.result });
  });
  return (
    <section class="panel kept">
      <header>
        <h2>{wanted.title}</h2>
        <p class="muted">{drawn(view)} · {trial.begun ? `${counted(trial.rowsIn, "row")} read` : "starting …"}{trial.ended ? `; ${trial.ended}` : ""}</p>
        <Remove title={wanted.title} onRemove={onRemove} />
      </header>
      {trial.error ? <Callout kind="error">{trial.error.message}</Callout> : null}
      <div class="plot-area">
        {view.kind === "bar" ? (trial.plot?.kind === "bar" ? <Bars {...trial.plot} /> : <p class="muted loading">Reading …</p>) : <Lines plot={trial.plot?.kind === "line" ? trial.plot : null} label={`${wanted.title}: ${view.y}`} onView={(width, range) => trial.show({ ...view, width, ...range })} />}
      </div>
    </section>
  );
}

export function PlotsPage() {
  const [plots, setPlots] = useState<Wanted[]>(pinnedPlots);
  const remove = (index: number) => {
    const left = plots.filter((_, at) => at !== index);
    setPinnedPlots(left);
    setPlots(left);
  };
  return (
    <>
      <header class="title">
        <div>
          <h1>Plots</h1>
          <p class="muted">Charts that you kept: of running jobs, and of queries that are computed for this page.</p>
        </div>
      </header>
      {plots.length === 0 ? (
        <Empty title="No charts yet">
          <p>Keep one of the <em>Results</em> of a <Link to="/" class="inline">job</Link>; or <Link to="/write" class="inline">write</Link> a query, run it, choose <em>Plot</em> and keep it.</p>
        </Empty>
      ) : (
        <div class="grid">{plots.map((wanted, index) => ("job" in wanted ? <KeptOfJob key={JSON.stringify(wanted)} wanted={wanted} onRemove={() => remove(index)} /> : <KeptTrial key={JSON.stringify(wanted)} wanted={wanted} onRemove={() => remove(index)} />))}</div>
      )}
    </>
  );
}
