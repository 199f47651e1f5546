// The page on which scripts are written, tried and deployed.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Diagnostic, get, post } from "./api";
import { Editor } from "./editor";
import { bytes, count, counted, seconds, short } from "./format";
import { Callout, Link } from "./parts";
import { Bars, Lines } from "./plot";
import type { Names, TableNames } from "./sql";
import { type Column, type View, type Wanted, defaultView, useTrial } from "./trial";

interface Checked {
  ok: boolean;
  diagnostics: Diagnostic[];
  inserts: { table: string; changes: string; key: string[] | null; state: { operator: string; bound: string }[] }[];
  results: string[];
  tables: TableNames[];
}

const EXAMPLE = `-- Made-up rows to try with: 200 in a second.
CREATE TABLE visits (page STRING, seconds DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at)
WITH (
  'connector' = 'datagen', 'rows-per-second' = '200', 'count' = '60000',
  'fields.seconds.min' = '0', 'fields.seconds.max' = '9'
);

SELECT window_start, AVG(seconds) AS mean, COUNT(*) AS visits
FROM TUMBLE(visits, at, INTERVAL '1' SECOND)
GROUP BY window_start, window_end;
`;

interface DataFile {
  name: string;
  format: string;
}

interface Scripts {
  directory: string;
  scripts: string[];
  files: DataFile[];
}

/** A script that reads a file, and goes on reading while it grows. */
export function scriptOfFile(file: DataFile): string {
  const word = file.name.replace(/\.[^.]*$/, "").toLowerCase().replace(/[^a-z0-9_]+/g, "_");
  const table = `"${/^[a-z_]/.test(word) ? word : `t_${word}`}"`;
  const options = ["'connector' = 'file'", `'path' = '${file.name.replace(/'/g, "''")}'`, `'format' = '${file.format}'`];
  const grows = file.format === "parquet" ? "" : ",\n  'source.monitor-interval' = '1 s'  -- read on while the file grows";
  return `CREATE TABLE ${table} WITH (\n  ${options.join(", ")}${grows}\n);\n\nSELECT * FROM ${table};\n`;
}

const DRAFT = "fsql-draft";
const CHECK_MS = 350;
const FILE = "file:";

interface Draft {
  name: string;
  text: string;
  digest: string;
}

function storedDraft(): Draft {
  try {
    const stored = JSON.parse(localStorage.getItem(DRAFT) ?? "null") as Draft | null;
    if (stored && typeof stored.text === "string") return stored;
  } catch {
    // a draft of another version
  }
  return { name: "", text: EXAMPLE, digest: "" };
}

function useChecked(text: string): [Checked | null, boolean] {
  const [checked, setChecked] = useState<Checked | null>(null);
  const [checking, setChecking] = useState(false);
  useEffect(() => {
    const stopped = new AbortController();
    setChecking(true);
    const timer = window.setTimeout(() => {
      post<Checked>("/api/check", { text }, stopped.signal).then(
        (found) => {
          setChecked((before) => (found.tables.length === 0 && !found.ok && before ? { ...found, tables: before.tables } : found));
          setChecking(false);
        },
        () => setChecking(false),
      );
    }, CHECK_MS);
    return () => {
      window.clearTimeout(timer);
      stopped.abort();
    };
  }, [text]);
  return [checked, checking];
}

function place(diagnostic: Diagnostic): string {
  const label = diagnostic.labels.find((each) => each.primary);
  return label?.line ? `line ${label.line}` : "";
}

function Problems({ checked, checking }: { checked: Checked | null; checking: boolean }) {
  if (checked === null) return <p class="muted state">Checking …</p>;
  const errors = checked.diagnostics.filter((each) => each.severity === "error").length;
  const warnings = checked.diagnostics.length - errors;
  const said = errors ? `${counted(errors, "error")}` : warnings ? `valid, ${counted(warnings, "warning")}` : "valid";
  return (
    <section class="panel problems" aria-live="polite">
      <header>
        <h2 class={errors ? "bad" : "good"}>{said}</h2>
        <p class="muted">{checking ? "checking …" : ""}</p>
      </header>
      {checked.diagnostics.length ? (
        <ul>
          {checked.diagnostics.map((diagnostic, index) => {
            const label = diagnostic.labels.find((each) => each.primary);
            return (
              <li key={index} class={diagnostic.severity}>
                <p><strong>{diagnostic.message}</strong> <span class="muted">{place(diagnostic)} {diagnostic.code}</span></p>
                {label?.message ? <p>{label.message}</p> : null}
                {diagnostic.notes.map((note) => <p class="muted" key={note}>{note}</p>)}
                {diagnostic.helps.map((help) => <p class="help" key={help}>{help}</p>)}
              </li>
            );
          })}
        </ul>
      ) : null}
      {checked.inserts.map((insert, index) => (
        <div class="insert" key={index}>
          <p><strong>{insert.table === "stdout" ? "the SELECT" : insert.table}</strong> <span class="muted">{insert.changes}{insert.key ? ` by ${insert.key.join(", ")}` : ""}</span></p>
          {insert.state.length === 0 ? <p class="muted">keeps no state</p> : insert.state.map((each) => <p class="muted" key={each.operator + each.bound}>state of {each.operator}: {each.bound}</p>)}
        </div>
      ))}
    </section>
  );
}

const OPERATIONS: Record<string, string> = { "+I": "added", "-U": "before", "+U": "after", "-D": "removed" };

function cell(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function Rows({ columns, rows, operation, note }: { columns: Column[]; rows: Record<string, unknown>[]; operation: string | null; note: string }) {
  const shown = columns.filter((column) => column.name !== operation);
  return (
    <>
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Rows">
        <table class="rows">
          <thead>
            <tr>
              {operation ? <th scope="col">change</th> : null}
              {shown.map((column) => <th scope="col" key={column.name} class={column.role === "number" ? "number" : ""}>{column.name} <span class="type">{column.type}</span></th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {operation ? <td class={`change ${OPERATIONS[String(row[operation])] ?? ""}`}>{String(row[operation])}</td> : null}
                {shown.map((column) => {
                  const value = row[column.name];
                  return <td key={column.name} class={`${column.role === "number" ? "number" : ""}${value === null ? " null" : ""}`}>{cell(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="line muted">{note}</p>
    </>
  );
}

const SPANS: [number, string][] = [[60, "minute"], [600, "10 minutes"], [3600, "hour"], [86_400, "day"]];

/** How a result is drawn; results of jobs are shown as tables as well, and by their newest part. */
export function ViewChoice({ columns, view, onView, ofJob = false }: { columns: Column[]; view: View; onView: (view: View) => void; ofJob?: boolean }) {
  const numbers = columns.filter((column) => column.role === "number");
  const xs = columns.filter((column) => column.role !== "text");
  return (
    <div class="choices">
      <label>Chart <select value={view.kind} onChange={(event) => onView({ ...view, y: view.y || (numbers[0]?.name ?? ""), kind: event.currentTarget.value as View["kind"], start: null, end: null })}>{numbers.length ? <><option value="line">line</option><option value="bar">bars</option></> : null}{ofJob ? <option value="table">table</option> : null}</select></label>
      {view.kind === "table" ? null : <><label>Value <select value={view.y} onChange={(event) => onView({ ...view, y: event.currentTarget.value })}>{numbers.map((column) => <option key={column.name}>{column.name}</option>)}</select></label>
      {view.kind === "line" ? (
        <label>Over <select value={view.x ?? ""} onChange={(event) => onView({ ...view, x: event.currentTarget.value || null, start: null, end: null })}><option value="">row number</option>{xs.map((column) => <option key={column.name}>{column.name}</option>)}</select></label>
      ) : null}
      <label>{view.kind === "bar" ? "Name" : "Line for each"} <select value={view.by ?? ""} onChange={(event) => onView({ ...view, by: event.currentTarget.value || null })}><option value="">{view.kind === "bar" ? "row number" : "one line"}</option>{columns.filter((column) => column.name !== view.y).map((column) => <option key={column.name}>{column.name}</option>)}</select></label></>}
      {ofJob && view.kind === "line" && columns.find((column) => column.name === view.x)?.role === "time" ? (
        <label>Shown <select value={String(view.last ?? "")} onChange={(event) => onView({ ...view, last: Number(event.currentTarget.value) || null, start: null, end: null })}><option value="">all</option>{SPANS.map(([length, name]) => <option key={length} value={String(length)}>the last {name}</option>)}</select></label>
      ) : null}
    </div>
  );
}

interface Change {
  operators: { text: string; effect: string; reason: string; stored_rows: number; bytes: number }[];
  outputs: { kept: string[]; added: string[]; dropped: string[]; inconsistent: string[]; differences: { output: string; changes: number | null }[] };
  tables: { added: string[]; dropped: string[] };
  kept_bytes: number;
  pause_seconds: number | null;
}

interface DeployAnswer {
  job: string;
  change: Change | null;
  new: boolean;
  done: boolean;
}

function Deploy({ script, onClose, onDone }: { script: string; onClose: () => void; onDone: (job: string) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [job, setJob] = useState(script.replace(/\.sql$/, "").replace(/ /g, "_"));
  const [answer, setAnswer] = useState<DeployAnswer | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [waiting, setWaiting] = useState(false);
  const [rebuild, setRebuild] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const ask = async (dry: boolean) => {
    setWaiting(true);
    setError(null);
    try {
      const found = await post<DeployAnswer>("/api/deploy", { script, job, dry_run: dry, rebuild });
      if (found.done) onDone(found.job);
      else setAnswer(found);
    } catch (reason) {
      setAnswer(null);
      setError(reason instanceof Error ? reason.message : String(reason));
    }
    setWaiting(false);
  };
  const list = (title: string, names: string[]) => (names.length ? <p>{title}: <strong>{names.join(", ")}</strong></p> : null);
  const change = answer?.change;
  return (
    <dialog ref={dialog} class="wide" onClose={onClose} aria-labelledby="deploy-title">
      <h2 id="deploy-title">Deploy {script}</h2>
      <label class="field">Name of the job <input value={job} onInput={(event) => { setJob(event.currentTarget.value); setAnswer(null); }} /></label>
      <label class="check"><input type="checkbox" checked={rebuild} onChange={(event) => { setRebuild(event.currentTarget.checked); setAnswer(null); }} /> read the input again and rebuild all state</label>
      {error ? <Callout kind="error">{error.split("\n").map((text) => <p key={text}>{text}</p>)}</Callout> : null}
      {answer?.new ? <Callout kind="note"><p><strong>{answer.job}</strong> will be a new job.</p></Callout> : null}
      {change ? (
        <div class="difference">
          <p><strong>{answer.job}</strong> runs; its plan will be changed at a committed position.</p>
          <ul>
            {change.operators.map((each, index) => (
              <li key={index}><span class={`effect ${each.effect}`}>{each.effect}</span> {each.text} <span class="muted">{count(each.stored_rows)} rows, {bytes(each.bytes)}{each.reason ? ` · ${each.reason}` : ""}</span></li>
            ))}
          </ul>
          {change.outputs.differences.map((each) => <p key={each.output}>output <strong>{each.output}</strong> gets {each.changes === null ? "the difference when the input has been read again" : `${count(each.changes)} change${each.changes === 1 ? "" : "s"}`}</p>)}
          {list("new outputs", change.outputs.added)}
          {list("outputs that are no longer written", change.outputs.dropped)}
          {list("new tables", change.tables.added)}
          {list("tables that are no longer read", change.tables.dropped)}
          <p class="muted">{change.pause_seconds === null ? "output pauses while the job starts" : `output pauses for about ${seconds(change.pause_seconds)}`}; {bytes(change.kept_bytes)} of state are kept</p>
        </div>
      ) : null}
      <div class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        {answer ? <button type="button" class="primary" disabled={waiting} onClick={() => void ask(false)}>{waiting ? "Deploying …" : answer.new ? "Deploy it" : "Change it"}</button> : <button type="button" class="primary" disabled={waiting || job === ""} onClick={() => void ask(true)}>{waiting ? "Comparing …" : "See what changes"}</button>}
      </div>
    </dialog>
  );
}

export function WritePage() {
  const [draft, setDraft] = useState<Draft>(storedDraft);
  const [names, setNames] = useState<Names>({ keywords: [], reserved: [], functions: [] });
  const [scripts, setScripts] = useState<Scripts>({ directory: "", scripts: [], files: [] });
  const [result, setResult] = useState<number | null>(null);
  const [tab, setTab] = useState<"rows" | "changes" | "plot">("rows");
  const [saved, setSaved] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [deploying, setDeploying] = useState(false);
  const [deployed, setDeployed] = useState<string | null>(null);
  const [checked, checking] = useChecked(draft.text);
  const trial = useTrial();
  const original = useRef(draft.digest ? null : draft.text);

  useEffect(() => localStorage.setItem(DRAFT, JSON.stringify(draft)), [draft]);
  const list = useCallback(() => void get<Scripts>("/api/scripts").then(setScripts, () => undefined), []);
  useEffect(() => {
    void get<Names>("/api/words").then(setNames, () => undefined);
    list();
  }, [list]);
  const results = checked?.results ?? [];
  const chosen = result !== null && result < results.length ? result : results.length - 1;

  const run = () => {
    setProblem(null);
    trial.start({ text: draft.text, result: chosen < 0 ? null : chosen });
  };
  const save = async (): Promise<boolean> => {
    const name = draft.name || window.prompt("Name of the script, such as totals.sql")?.trim() || "";
    if (name === "") return false;
    const whole = name.endsWith(".sql") ? name : `${name}.sql`;
    try {
      const answer = await post<{ name: string; digest: string }>("/api/save", { name: whole, text: draft.text, before: whole === draft.name ? draft.digest : "" });
      setDraft((before) => ({ ...before, name: whole, digest: answer.digest }));
      original.current = draft.text;
      setSaved(`saved ${whole}`);
      window.setTimeout(() => setSaved(""), 2500);
      setProblem(null);
      list();
      return true;
    } catch (reason) {
      setProblem(reason instanceof Error ? reason.message : String(reason));
      return false;
    }
  };
  const open = async (name: string) => {
    const file = scripts.files.find((each) => name === `${FILE}${each.name}`);
    if (name === "" || file) {
      original.current = "";
      setDraft({ name: "", text: file ? scriptOfFile(file) : "", digest: "" });
      trial.stop();
      return;
    }
    try {
      const found = await get<{ name: string; text: string; digest: string }>(`/api/script?name=${encodeURIComponent(name)}`);
      original.current = found.text;
      setDraft(found);
      trial.stop();
    } catch (reason) {
      setProblem(reason instanceof Error ? reason.message : String(reason));
    }
  };
  const { columns } = trial;
  const view = useMemo(() => trial.view ?? (columns.length ? defaultView(columns, trial.operation) : null), [trial.view, columns]);
  const changed = original.current !== null && original.current !== draft.text;
  const numbers = columns.some((column) => column.role === "number");
  const pin = (): Wanted => ({ title: draft.name || results[chosen] || "query", text: draft.text, result: chosen < 0 ? null : chosen, view: { ...view!, start: null, end: null } });
  return (
    <>
      <header class="title">
        <div>
          <h1>Write</h1>
          <p class="muted path">{scripts.directory}</p>
        </div>
        <div class="actions">
          <span class="muted said" role="status">{saved || (changed ? "not saved" : "")}</span>
          <label class="select"><span class="hidden">Script</span>
            <select value={draft.name} onChange={(event) => void open(event.currentTarget.value)}>
              <option value="">New script</option>
              {[...new Set([...scripts.scripts, ...(draft.name ? [draft.name] : [])])].sort().map((name) => <option key={name}>{name}</option>)}
              {scripts.files.length ? (
                <optgroup label="Read a file">{scripts.files.map((file) => <option key={file.name} value={`${FILE}${file.name}`}>{file.name}</option>)}</optgroup>
              ) : null}
            </select>
          </label>
          <button type="button" onClick={() => void save()} title="Ctrl+S">Save</button>
          <button type="button" disabled={checked?.ok === false} onClick={() => void save().then((done) => setDeploying(done))}>Deploy …</button>
        </div>
      </header>
      {problem ? <Callout kind="error">{problem}</Callout> : null}
      {deployed ? <Callout kind="note"><p><strong>{deployed}</strong> is deployed. <Link to="/">See the jobs</Link></p></Callout> : null}
      <div class="write">
        <section class="panel sheet-panel" aria-label="Editor">
          <Editor text={draft.text} onText={(text) => setDraft((before) => ({ ...before, text }))} onRun={run} onSave={() => void save()} diagnostics={checked?.diagnostics ?? []} names={names} tables={checked?.tables ?? []} />
          <footer>
            <button type="button" class="primary" disabled={checked !== null && (!checked.ok || results.length === 0)} onClick={run} title="Ctrl+Enter">{trial.running ? "Run again" : "Run"}</button>
            {trial.running ? <button type="button" class="quiet" onClick={trial.stop}>Stop</button> : null}
            {results.length > 1 ? (
              <label class="select">of <select value={String(chosen)} onChange={(event) => setResult(Number(event.currentTarget.value))}>{results.map((name, index) => <option key={index} value={String(index)}>{name}</option>)}</select></label>
            ) : null}
            <span class="muted">{results.length ? "shown here, written nowhere" : ""}</span>
          </footer>
        </section>
        <Problems checked={checked} checking={checking} />
      </div>
      {trial.error ? (
        <Callout kind="error">
          <p><strong>{trial.error.message}</strong></p>
          {trial.error.diagnostics.flatMap((each) => [...each.notes, ...each.helps]).map((text) => <p key={text}>{text}</p>)}
        </Callout>
      ) : null}
      {trial.running && !trial.begun ? <p class="muted loading" role="status">Starting …</p> : null}
      {trial.begun ? (
        <section class="panel result" aria-label="Result">
          <header>
            <div class="segments" role="group" aria-label="How the result is shown">
              <button type="button" aria-pressed={tab === "rows"} onClick={() => setTab("rows")}>{trial.operation ? "Current rows" : "Rows"}</button>
              {trial.operation ? <button type="button" aria-pressed={tab === "changes"} onClick={() => setTab("changes")}>Changes</button> : null}
              <button type="button" aria-pressed={tab === "plot"} disabled={!numbers} onClick={() => { setTab("plot"); if (view) trial.show(view); }}>Plot</button>
            </div>
            <p class="muted" role="status">{counted(trial.rowsIn, "row")} read, {counted(trial.released, trial.operation ? "change" : "row")} released{trial.late ? `, ${short(trial.late)} late` : ""}{trial.rejected ? `, ${short(trial.rejected)} rejected` : ""}{trial.ended ? `; ${trial.ended}` : ""}</p>
            {tab === "plot" && view ? <PinButton wanted={pin} /> : null}
          </header>
          {tab === "rows" ? <Rows columns={columns.filter((column) => column.name !== trial.operation)} operation={null} rows={trial.rows} note={trial.rowCount > trial.rows.length ? `${count(trial.rows.length)} of ${count(trial.rowCount)} rows` : `${count(trial.rowCount)} row${trial.rowCount === 1 ? "" : "s"}`} /> : null}
          {tab === "changes" ? <Rows columns={columns} operation={trial.operation} rows={trial.changes} note="the newest changes first" /> : null}
          {tab === "plot" && view ? (
            <div class="plot-area">
              <ViewChoice columns={columns.filter((column) => column.name !== trial.operation)} view={view} onView={trial.show} />
              {trial.plot?.kind === "none" ? <Callout kind="warning">{trial.plot.problem}</Callout> : null}
              {view.kind === "bar" ? (trial.plot?.kind === "bar" ? <Bars {...trial.plot} /> : null) : <Lines plot={trial.plot?.kind === "line" ? trial.plot : null} label={`${view.y} over ${view.x ?? "row number"}`} onView={(width, range) => trial.show({ ...(trial.viewNow() ?? view), width, ...range })} />}
            </div>
          ) : null}
        </section>
      ) : null}
      {deploying ? <Deploy script={draft.name} onClose={() => setDeploying(false)} onDone={(job) => { setDeploying(false); setDeployed(job); }} /> : null}
    </>
  );
}

function PinButton({ wanted }: { wanted: () => Wanted }) {
  const [done, setDone] = useState(false);
  return (
    <button type="button" class="quiet" onClick={() => { pinPlot(wanted()); setDone(true); }}>{done ? "Kept in Plots" : "Keep in Plots"}</button>
  );
}

const PLOTS = "fsql-plots";

export function pinnedPlots(): Wanted[] {
  try {
    const stored = JSON.parse(localStorage.getItem(PLOTS) ?? "[]") as Wanted[];
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

export function setPinnedPlots(plots: Wanted[]) {
  localStorage.setItem(PLOTS, JSON.stringify(plots));
}

export function pinPlot(plot: Wanted) {
  setPinnedPlots([...pinnedPlots(), plot]);
}
