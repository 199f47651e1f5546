// Requests to the server.  Each has the secret that only this page can read.

const secret = document.querySelector<HTMLMetaElement>('meta[name="fsql-page"]')?.content ?? "";
export const version = document.querySelector<HTMLMetaElement>('meta[name="fsql-version"]')?.content ?? "";

export interface Diagnostic {
  code: string;
  severity: "error" | "warning";
  message: string;
  labels: { primary: boolean; message: string; start: number; end: number; line?: number; column?: number }[];
  notes: string[];
  helps: string[];
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly diagnostics: Diagnostic[] = [],
  ) {
    super(message);
  }
}

async function refusal(answer: Response): Promise<Refused> {
  try {
    const fields = (await answer.json()) as { error?: string; diagnostics?: Diagnostic[] };
    return new Refused(answer.status, fields.error ?? answer.statusText, fields.diagnostics ?? []);
  } catch {
    return new Refused(answer.status, answer.statusText);
  }
}

function headers(body: boolean): HeadersInit {
  return body ? { "X-Fsql-Page": secret, "Content-Type": "application/json" } : { "X-Fsql-Page": secret };
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(path, { headers: headers(false), signal: signal ?? null });
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()) as T;
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(path, {
    method: "POST",
    headers: headers(true),
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()) as T;
}

/** Calls `take` with each object of an answer that lasts, until it ends or `signal` aborts it. */
export async function follow<T>(
  path: string,
  take: (message: T) => void,
  signal: AbortSignal,
  body?: unknown,
): Promise<void> {
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: headers(body !== undefined),
    body: body === undefined ? null : JSON.stringify(body),
    signal,
  });
  if (!answer.ok || answer.body === null) throw await refusal(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") take(JSON.parse(line) as T);
  }
}
