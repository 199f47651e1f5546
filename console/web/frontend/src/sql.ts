// Colours and completion of SQL.  The server checks; nothing here decides what is valid.

export interface Word {
  text: string;
  kind: "table" | "column" | "function" | "keyword";
}

export interface Names {
  keywords: string[];
  reserved: string[];
  functions: string[];
}

export interface TableNames {
  name: string;
  columns: string[];
}

const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|([A-Za-z_][A-Za-z0-9_]*)/gi;

export interface Span {
  start: number;
  end: number;
  kind: string;
}

/** The coloured parts of a text, in order. */
export function spans(text: string, keywords: Set<string>, reserved: Set<string>, functions: Set<string>): Span[] {
  const found: Span[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [whole, comment, string, , number, word] = match;
    const start = match.index;
    let kind = "";
    if (comment) kind = "comment";
    else if (string) kind = "string";
    else if (number) kind = "literal";
    else if (word && (reserved.has(word.toUpperCase()) || keywords.has(word))) kind = "keyword"; // others may be names
    else if (word && functions.has(word.toUpperCase()) && text[start + word.length] === "(") kind = "function";
    if (kind) found.push({ start, end: start + whole.length, kind });
  }
  return found;
}

/** Words that begin with what is before the cursor; of a table after its name and a point. */
export function completions(before: string, names: Names, tables: TableNames[]): { word: string; found: Word[] } {
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(before)?.[0] ?? "";
  const head = before.slice(0, before.length - word.length);
  const lower = word.toLowerCase();
  const begins = (text: string) => text.toLowerCase().startsWith(lower) && text.toLowerCase() !== lower;
  const table = /([A-Za-z_][A-Za-z0-9_]*)\.$/.exec(head)?.[1]?.toLowerCase();
  const columns = [...new Set(tables.filter((each) => table === undefined || each.name.toLowerCase() === table).flatMap((each) => each.columns))];
  const ofColumns = columns.filter(begins).map((text): Word => ({ text, kind: "column" }));
  if (table !== undefined) return { word, found: ofColumns.slice(0, 12) };
  if (word === "") return { word, found: [] };
  const found: Word[] = [
    ...tables.map((each) => each.name).filter(begins).map((text): Word => ({ text, kind: "table" })),
    ...ofColumns,
    ...names.functions.filter(begins).map((text): Word => ({ text: `${text}(`, kind: "function" })),
    ...names.keywords.filter(begins).map((text): Word => ({ text, kind: "keyword" })),
  ];
  return { word, found: found.slice(0, 12) };
}
