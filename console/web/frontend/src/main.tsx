// The page: its bar, its address, and what it shows.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { version } from "./api";
import { JobPage } from "./job";
import { JobsPage } from "./jobs";
import { type Connection, useJobs } from "./jobs_data";
import { Callout, Command, Link } from "./parts";
import { PlotsPage } from "./plots";
import { WritePage } from "./write";

type Theme = "system" | "light" | "dark";
const THEMES: Theme[] = ["system", "light", "dark"];

function useAddress(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const onChange = () => {
      setPath(location.pathname);
      window.scrollTo(0, 0);
    };
    window.addEventListener("popstate", onChange);
    return () => window.removeEventListener("popstate", onChange);
  }, []);
  return path;
}

function storedTheme(): Theme {
  const stored = localStorage.getItem("fsql-theme") as Theme | null;
  return stored !== null && THEMES.includes(stored) ? stored : "system";
}

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("fsql-theme", theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <button type="button" class="plain" onClick={() => setTheme(next)} aria-label={`Colours: ${theme}. Change to ${next}`} title={`Colours: ${theme}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {theme === "system" ? <path d="M8 2a6 6 0 1 0 0 12V2Zm0 0a6 6 0 0 1 0 12" /> : theme === "light" ? <path d="M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6Zm0-4v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1M3 13l1-1m8-8 1-1" /> : <path d="M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2Z" />}
      </svg>
    </button>
  );
}

const CONNECTIONS: Record<Connection, string> = {
  connecting: "connecting",
  live: "live",
  lost: "connection lost",
  over: "session over",
};

function App() {
  const path = useAddress();
  const [, page, id, tab] = path.split("/");
  const chosen = page === "jobs" && id ? id : null;
  const [jobs, connection] = useJobs(chosen);
  const name = jobs?.jobs.find((job) => job.id === chosen)?.name;
  useEffect(() => {
    document.title = `${name ?? { write: "Write", plots: "Plots" }[page ?? ""] ?? "Jobs"} · fsql`;
  }, [name, page]);
  return (
    <>
      <a class="skip" href="#content">Skip to content</a>
      <header class="top">
        <div class="inside">
          <Link to="/" class="logo" aria-label="fsql">
            <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 7.5c4 0 4-3.5 8-3.5s4 3.5 10 3.5M3 13c4 0 5-3 9-3s4 3 9 3M3 18.500c4 0 4.500-2.500 8.500-2.500S16 18.500 21 18.500" /></svg>
            fsql
          </Link>
          <nav aria-label="Pages">
            <Link to="/" aria-current={page === "" || page === "jobs" ? "page" : undefined}>Jobs</Link>
            <Link to="/write" aria-current={page === "write" ? "page" : undefined}>Write</Link>
            <Link to="/plots" aria-current={page === "plots" ? "page" : undefined}>Plots</Link>
          </nav>
          <span class={`connection ${connection}`} role="status">
            <span class="dot" aria-hidden="true" />
            <span class="words">{CONNECTIONS[connection]}</span>
          </span>
          <ThemeButton />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {connection === "over" ? (
          <Callout kind="error">This session is over: the server was started again. Open the address that it printed: <Command text="fsql ui" /></Callout>
        ) : null}
        {connection === "lost" ? <Callout kind="warning">The server does not answer; what is shown is old. This page tries again. <Command text="fsql ui" /></Callout> : null}
        {page === "write" ? <WritePage /> : page === "plots" ? <PlotsPage /> : chosen !== null ? <JobPage key={chosen} id={chosen} tab={tab ?? "graph"} jobs={jobs} /> : <JobsPage jobs={jobs} />}
      </main>
      <footer>fsql {version}</footer>
    </>
  );
}

render(<App />, document.getElementById("app")!);
