// Small parts of pages.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Job } from "./jobs_data";

export function Pill({ state }: { state: Job["state"] }) {
  return (
    <span class={`pill ${state}`}>
      <span class="dot" aria-hidden="true" />
      {state}
    </span>
  );
}

const COMMAND = /(fsql [a-z-]+(?: [^:;]+)?|kill -[A-Z]+ \d+)$/;

/** A sentence whose last part may be a command. */
export function Sentence({ text }: { text: string }) {
  const found = COMMAND.exec(text);
  if (found === null) return <>{text}</>;
  return (
    <>
      {text.slice(0, found.index)}
      <Command text={found[0]} />
    </>
  );
}

export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    window.setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="command" onClick={copy} title="Copy">
      <code>{text}</code>
      <span aria-live="polite">{copied ? "copied" : "copy"}</span>
    </button>
  );
}

export function Callout({ kind, children }: { kind: "note" | "warning" | "error"; children: ComponentChildren }) {
  return (
    <div class={`callout ${kind}`} role={kind === "error" ? "alert" : undefined}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {kind === "note" ? <path d="M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Zm0 6v4M8 4.8v.4" /> : <path d="M8 1.8 15 14H1L8 1.8Zm0 4.7v3.2M8 11.6v.4" />}
      </svg>
      <div>{children}</div>
    </div>
  );
}

interface LinkProps {
  to: string;
  children: ComponentChildren;
  class?: string;
  "aria-label"?: string;
  "aria-current"?: "page" | undefined;
}

export function Link({ to, children, ...rest }: LinkProps) {
  return (
    <a
      href={to}
      {...rest}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}

export function go(to: string) {
  history.pushState(null, "", to);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

/** Tabs that are links: each has an address, and arrow keys move between them. */
export function Tabs({ tabs, now, label }: { tabs: { name: string; to: string; title: string; badge?: string | null }[]; now: string; label: string }) {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const shown = list.current?.querySelector<HTMLElement>('[aria-current="page"]');
    if (list.current && shown) list.current.scrollLeft = shown.offsetLeft - list.current.offsetLeft - 12;
  }, [now]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || list.current === null) return;
    const links = [...list.current.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    links[(at + step + links.length) % links.length]?.focus();
    event.preventDefault();
  };
  return (
    <nav class="tabs" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <Link key={tab.name} to={tab.to} aria-current={tab.name === now ? "page" : undefined}>
          {tab.title}
          {tab.badge ? <span class="badge">{tab.badge}</span> : null}
        </Link>
      ))}
    </nav>
  );
}

/** A question before something is done that changes a job. */
export function Confirm({ title, text, action, danger, onDone }: { title: string; text: string; action: string; danger?: boolean; onDone: (yes: boolean) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={() => onDone(dialog.current?.returnValue === "yes")} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{title}</h2>
      <p>{text}</p>
      <div class="actions">
        <button type="button" onClick={() => dialog.current?.close("no")}>
          Cancel
        </button>
        <button type="button" class={danger ? "danger" : "primary"} onClick={() => dialog.current?.close("yes")}>
          {action}
        </button>
      </div>
    </dialog>
  );
}

export function Bar({ share, label }: { share: number; label: string }) {
  const level = share > 0.85 ? "high" : share > 0.6 ? "middle" : "low";
  return (
    <span class={`bar ${level}`}>
      <span class="track" aria-hidden="true">
        <span style={{ width: `${Math.min(100, Math.max(share > 0 ? 1.5 : 0, share * 100))}%` }} />
      </span>
      <span class="number">{label}</span>
    </span>
  );
}

export function Table({ caption, heads, children, note }: { caption: string; heads: (string | [string, "number"])[]; children: ComponentChildren; note?: string | undefined }) {
  return (
    <section class="panel">
      <header>
        <h2>{caption}</h2>
        {note ? <p class="muted">{note}</p> : null}
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
        <table>
          <thead>
            <tr>
              {heads.map((head) => (typeof head === "string" ? <th scope="col">{head}</th> : <th scope="col" class="number">{head[0]}</th>))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </section>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
