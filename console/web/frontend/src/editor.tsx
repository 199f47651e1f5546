// The editor: a text area over the coloured text, with lines that have errors, and completion.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Diagnostic } from "./api";
import { type Names, type TableNames, type Word, completions, spans } from "./sql";

interface EditorProps {
  text: string;
  onText: (text: string) => void;
  onRun: () => void;
  onSave: () => void;
  diagnostics: Diagnostic[];
  names: Names;
  tables: TableNames[];
}

interface Mark {
  start: number;
  end: number;
  severity: string;
}

/** Offsets of the server count code points; those of the browser count UTF-16 units. */
function unitsOf(text: string): (offset: number) => number {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => offset;
  const points = [...text];
  return (offset) => points.slice(0, offset).join("").length;
}

export function marksOf(text: string, diagnostics: Diagnostic[]): Mark[] {
  const units = unitsOf(text);
  return diagnostics.flatMap((diagnostic) =>
    diagnostic.labels.filter((label) => label.primary).map((label) => ({ start: units(label.start), end: Math.max(units(label.end), units(label.start) + 1), severity: diagnostic.severity })),
  );
}

function painted(text: string, names: Names, marks: Mark[]) {
  const keywords = new Set(names.keywords);
  const functions = new Set(names.functions);
  const coloured = spans(text, keywords, new Set(names.reserved), functions);
  const borders = new Set([0, text.length]);
  for (const each of [...coloured, ...marks]) borders.add(Math.min(each.start, text.length)).add(Math.min(each.end, text.length));
  const sorted = [...borders].sort((a, b) => a - b);
  let at = 0;
  return sorted.slice(0, -1).map((start, index) => {
    const end = sorted[index + 1]!;
    while (at < coloured.length && coloured[at]!.end <= start) at += 1;
    const colour = coloured[at];
    const kind = colour && colour.start <= start && start < colour.end ? colour.kind : "";
    const mark = marks.find((each) => each.start <= start && start < each.end);
    const name = [kind, mark ? `mark ${mark.severity}` : ""].join(" ").trim();
    const part = text.slice(start, end);
    return name ? <span key={start} class={name}>{part}</span> : part;
  });
}

export function Editor({ text, onText, onRun, onSave, diagnostics, names, tables }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const [found, setFound] = useState<Word[]>([]);
  const [chosen, setChosen] = useState(0);
  const [word, setWord] = useState("");
  const [place, setPlace] = useState({ left: 0, top: 0 });
  const marks = useMemo(() => marksOf(text, diagnostics), [text, diagnostics]);
  const lines = text.split("\n").length;
  const bad = useMemo(() => new Map(diagnostics.flatMap((each) => each.labels.filter((label) => label.primary && label.line).map((label) => [label.line!, each.severity] as const))), [diagnostics]);

  const close = () => setFound([]);
  const suggest = (value: string, at: number, asked: boolean) => {
    const before = value.slice(0, at);
    const { word: begun, found: words } = completions(before, names, tables);
    if (!asked && begun.length < 2 && !before.endsWith(".")) return close();
    setWord(begun);
    setChosen(0);
    setFound(words);
    const width = ruler.current?.getBoundingClientRect().width ?? 8;
    const row = before.split("\n");
    setPlace({ left: 52 + (row.at(-1)!.length - begun.length) * (width / 10), top: 12 + row.length * 21 });
    return undefined;
  };
  const insert = (chosenWord: Word) => {
    const element = area.current!;
    const end = element.selectionStart;
    element.setRangeText(chosenWord.text, end - word.length, end, "end");
    onText(element.value);
    close();
    element.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const element = area.current!;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      close();
      onRun();
    } else if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      onSave();
    } else if (event.ctrlKey && event.key === " ") {
      event.preventDefault();
      suggest(element.value, element.selectionStart, true);
    } else if (found.length > 0) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setChosen((chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
      } else if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        insert(found[chosen]!);
      } else if (event.key === "Escape") {
        event.preventDefault();
        close();
      } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) close();
    }
  };
  useLayoutEffect(() => {
    if (area.current) area.current.style.height = `${lines * 21 + 60}px`;
  }, [lines]);
  useEffect(() => {
    document.querySelector("#completions [aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <div class="editor">
      <div class="sheet">
        <div class="numbers" aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => (
            <span key={index} class={bad.get(index + 1) ?? ""}>{index + 1}</span>
          ))}
        </div>
        <pre aria-hidden="true">{painted(text, names, marks)}{"\n"}</pre>
        <textarea
          ref={area}
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          aria-label="Script"
          aria-autocomplete="list"
          aria-controls="completions"
          aria-activedescendant={found.length ? `completion-${chosen}` : undefined}
          onInput={(event) => {
            onText(event.currentTarget.value);
            suggest(event.currentTarget.value, event.currentTarget.selectionStart, false);
          }}
          onKeyDown={onKeyDown}
          onBlur={() => window.setTimeout(close, 150)}
        />
        <span class="ruler" ref={ruler} aria-hidden="true">0000000000</span>
        <ul id="completions" role="listbox" aria-label="Completions" hidden={found.length === 0} style={{ left: `${place.left}px`, top: `${place.top}px` }}>
          {found.map((each, index) => (
            <li key={each.text} id={`completion-${index}`} role="option" aria-selected={index === chosen} onMouseDown={(event) => { event.preventDefault(); insert(each); }}>
              <code>{each.text}</code> <span class="muted">{each.kind}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
