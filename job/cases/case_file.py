"""Files of cases: Markdown, in which fenced blocks have statements, input rows and expected rows.

Each heading of the second level begins a case.  The text before the first one applies to every case of the
file; a file without such headings is one case.  All other text is for the reader.

    Script: ../queries/views.sql       the script of the case; a link to it will do
    Parameter: seconds = 60            a value of ${seconds}

    ```sql                             statements, instead of a script
    ```json input TABLE                rows of a table that the script reads; also csv, text
    ```json output TABLE               the changes that it writes to a table, in order
    ```json table TABLE                the rows that are left when all changes are made, in any order
    ```json late TABLE                 rows that were too late for a table that it writes
    ```json rejects TABLE              malformed rows of a table that it reads
    ```text error                      the errors that end the run, as FSQL-E501: message
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText, Span

if TYPE_CHECKING:
    from pathlib import Path

RESULT: Final = "result"
"""The name of the output of a bare SELECT."""
INPUT: Final = "input"
ERROR: Final = "error"
EXPECTED: Final = ("output", "table", "late", "rejects", ERROR)
_ROLES: Final = (INPUT, *EXPECTED)
_LANGUAGES: Final = {"json": "json", "jsonl": "json", "csv": "csv", "text": "text"}
_FENCE: Final = re.compile(r"(`{3,})\s*(.*?)\s*")
_DIRECTIVE: Final = re.compile(r"(?:[-*]\s+)?(Script|Parameter):\s*(.*?)\s*")
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|`([^`]+)`|(\S+)")
_PARAMETER: Final = re.compile(r"`?([A-Za-z_]\w*)\s*=\s*(.*?)`?")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of rows: `role` is their role, `name` the table; `span` is that of `text`."""

    role: str
    name: str
    language: str
    text: str
    span: Span
    fence: Span


@dataclass(frozen=True, slots=True)
class Case:
    """A case; `sql` has its statements at their lines in the file, if it names no script.

    `end` is the position after the case.
    """

    name: str
    line: int
    end: int
    script: str | None = None
    sql: tuple[Span, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    inputs: tuple[Block, ...] = ()
    expected: tuple[Block, ...] = ()
    head: Span = field(default_factory=lambda: Span(0, 0))


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases."""

    path: Path
    source: SourceText
    cases: tuple[Case, ...]

    def statements(self, case: Case) -> str:
        """Return the text of a file with everything blank except the statements of a case."""
        text = self.source.text
        pieces, done = [], 0
        for span in case.sql:
            pieces += [_blank(text[done : span.start]), text[span.start : span.end]]
            done = span.end
        return "".join(pieces)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def read_case_file(path: Path, shown: str) -> CaseFile:
    """Return the cases of a file; errors name it `shown`.

    Raises:
        FsqlError: E711, if the file cannot be read or is malformed.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FsqlError([Diagnostic("E711", f'"{shown}" cannot be read: {reason}')]) from None
    source = SourceText(shown, text)
    return CaseFile(path, source, _Reader(source).read(path.stem))


class _Reader:
    """Reads the lines of a file."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._lines = source.line_spans
        self._at = 0

    def read(self, stem: str) -> tuple[Case, ...]:
        """Return the cases; one without any heading is called `stem`."""
        end = len(self._source.text)
        shared = Case(stem, 1, end)
        begun: Case | None = None
        done: list[Case] = []
        while self._at < len(self._lines):
            span = self._lines[self._at]
            text = self._source.slice(span)
            self._at += 1
            if text.startswith("## "):
                if begun is not None:
                    done.append(replace(begun, end=span.start))
                begun = replace(shared, name=text[3:].strip(), line=self._at, head=span)
            elif text.startswith("# ") and begun is None:
                shared = replace(shared, name=text[2:].strip(), head=span)
            elif begun is None:
                shared = self._line(shared, text, span)
            else:
                begun = self._line(begun, text, span)
        return (*done, shared if begun is None else begun)

    def _line(self, case: Case, text: str, span: Span) -> Case:
        """Return the case with the declaration or block that begins at a line."""
        if fence := _FENCE.fullmatch(text):
            return self._block(case, fence[1], fence[2], span)
        if directive := _DIRECTIVE.fullmatch(text):
            return self._directive(case, directive[1], directive[2], span)
        return case

    def _directive(self, case: Case, word: str, value: str, span: Span) -> Case:
        if word == "Script":
            link = _LINK.fullmatch(value)
            if link is None:
                raise self._wrong("a script is given as a path or as a link", span)
            return replace(case, script=link[1] or link[2] or link[3])
        parameter = _PARAMETER.fullmatch(value)
        if parameter is None:
            raise self._wrong("a parameter is given as: name = value", span)
        return replace(case, parameters=(*case.parameters, (parameter[1], parameter[2])))

    def _block(self, case: Case, ticks: str, words: str, fence: Span) -> Case:
        """Return the case with the block that begins at a fence, and skip the lines of the block."""
        content = self._content(ticks, fence)
        language, role, name = (*words.split(), "", "", "")[:3]
        if len(words.split()) == 1 and language == "sql":
            if case.script is not None:
                raise self._wrong("the case has a script; it cannot have statements as well", fence)
            return replace(case, sql=(*case.sql, content))
        if not role:
            return case
        self._check(language, role, words, fence)
        text = self._source.slice(content)
        block = Block(role, name, _LANGUAGES[language], text, content, fence)
        taken = case.inputs if role == INPUT else case.expected
        if role == INPUT:  # a case may replace the rows that apply to all cases
            kept = tuple(each for each in taken if each.name != name)
            return replace(case, inputs=(*kept, block))
        if any((each.role, each.name) == (role, name) for each in taken):
            raise self._wrong(f"the case has two blocks of {role} {name}".rstrip(), fence)
        return replace(case, expected=(*taken, block))

    def _content(self, ticks: str, fence: Span) -> Span:
        start = self._lines[self._at].start if self._at < len(self._lines) else fence.end
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if self._source.slice(line).rstrip() == ticks:
                return Span(start, line.start)
        raise self._wrong("the block is not closed before the file ends", fence)

    def _check(self, language: str, role: str, words: str, fence: Span) -> None:
        if role not in _ROLES:
            near = near_name(role, _ROLES)
            helps = (f"a similar word is {near}",) if near else ()
            message = f'"{role}" is not a kind of rows; kinds are {", ".join(_ROLES)}'
            raise self._wrong(message, fence, helps)
        allowed = ("text",) if role == ERROR else tuple(_LANGUAGES)
        if role not in {INPUT, ERROR}:
            allowed = tuple(each for each in allowed if each != "text")
        if language not in allowed:
            raise self._wrong(f"rows of {role} are given as {', '.join(allowed)}", fence)
        if len(words.split()) != (2 if role == ERROR else 3):
            wanted = "no name" if role == ERROR else "the name of one table"
            raise self._wrong(f"{role} is followed by {wanted}", fence)

    def _wrong(self, message: str, span: Span, helps: tuple[str, ...] = ()) -> FsqlError:
        return FsqlError([Diagnostic("E711", message, Label(span), helps=helps)], self._source)
