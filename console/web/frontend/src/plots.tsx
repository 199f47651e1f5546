// The page of kept charts: each is a trial of its own, and runs while it is seen.

import { useEffect, useRef, useState } from "preact/hooks";
import { counted } from "./format";
import { Callout, Empty, Link } from "./parts";
import { Bars, Lines } from "./plot";
import { type Wanted, useTrial } from "./trial";
import { pinnedPlots, setPinnedPlots } from "./write";

function KeptPlot({ wanted, onRemove }: { wanted: Wanted; onRemove: () => void }) {
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
        <p class="muted">{view.y}{view.kind === "line" && view.x ? ` over ${view.x}` : ""}{view.by ? ` by ${view.by}` : ""} · {trial.begun ? `${counted(trial.rowsIn, "row")} read` : "starting …"}{trial.ended ? `; ${trial.ended}` : ""}</p>
        <button type="button" class="plain" aria-label={`Remove the chart ${wanted.title}`} title="Remove" onClick={onRemove}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="m4 4 8 8M12 4l-8 8" /></svg></button>
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
          <p class="muted">Charts that you kept. Each is computed for this page, and written nowhere.</p>
        </div>
      </header>
      {plots.length === 0 ? (
        <Empty title="No charts yet">
          <p><Link to="/write" class="inline">Write</Link> a query, run it, choose <em>Plot</em> and keep it.</p>
        </Empty>
      ) : (
        <div class="grid">{plots.map((wanted, index) => <KeptPlot key={JSON.stringify(wanted)} wanted={wanted} onRemove={() => remove(index)} />)}</div>
      )}
    </>
  );
}
