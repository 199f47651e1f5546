"""Diagnostics as text with carets, and as JSON.

The text of a diagnostic is its message, the lines of source that its labels touch, the text of each label
(`^` marks what is wrong, `-` the other labels), then notes and helps:

    error[FSQL-E203]: column "amnt" does not exist
     --> total.sql:1:8
      |
    1 | SELECT amnt
      |        ^^^^ not a column of payments
    2 | FROM payments
      |      -------- payments has user_id, amount, at
      = help: a column with a similar name exists: "amount"

The text is always safe to print: an invisible character is shown as its code point, and only a part of a line
that is too long is shown.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.excerpt import excerpt, gutter_width, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
    from fsql.compiler.diagnostics.excerpt import Paint
    from fsql.compiler.text.source import SourceText

_COLOURS: Final = {
    "error": "1;31",
    "warning": "1;33",
    "title": "1",
    "primary": "1;31",
    "secondary": "1;34",
    "gutter": "1;34",
    "note": "1",
    "help": "1;32",
}
"""ANSI colours by role."""


def render_error(error: FsqlError, *, coloured: bool = False) -> str:
    """Return the text of all diagnostics of `error`."""
    return render_text(error.diagnostics, error.source, coloured=coloured)


def render_text(
    diagnostics: Iterable[Diagnostic], source: SourceText | None, *, coloured: bool = False
) -> str:
    """Return the text of `diagnostics`, whose labels point into `source`, separated by empty lines."""
    paint = _colour if coloured else _plain
    return "\n".join(
        "".join(f"{line}\n" for line in _lines(diagnostic, source, paint))
        for diagnostic in diagnostics
    )


def _plain(_role: str, text: str) -> str:
    return text


def _colour(role: str, text: str) -> str:
    return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m"


def _lines(diagnostic: Diagnostic, source: SourceText | None, paint: Paint) -> Iterator[str]:
    severity = diagnostic.severity
    head = paint(severity, f"{severity}[FSQL-{diagnostic.code}]")
    yield head + paint("title", f": {visible(diagnostic.message)}")
    width = 1
    if source is not None:
        width = gutter_width(diagnostic, source)
        yield f"{'':{width}}{paint('gutter', '-->')} {_where(diagnostic, source)}"
        yield from excerpt(diagnostic, source, paint)
    for kind, texts in (("note", diagnostic.notes), ("help", diagnostic.helps)):
        for text in texts:
            yield f"{'':{width}} {paint('gutter', '=')} {paint(kind, f'{kind}:')} {visible(text)}"


def _where(diagnostic: Diagnostic, source: SourceText) -> str:
    """Return the position of the primary label as editors and terminals write it: `name:line:column`."""
    name = visible(source.name)
    if diagnostic.primary is None:
        return name
    line, column = source.line_column(diagnostic.primary.span.start)
    return f"{name}:{line}:{column}"


def render_json(diagnostics: Iterable[Diagnostic], source: SourceText | None) -> str:
    """Return `diagnostics` as a JSON array; offsets count code points from 0, lines and columns from 1."""
    return json.dumps([_json(diagnostic, source) for diagnostic in diagnostics])


def _json(diagnostic: Diagnostic, source: SourceText | None) -> dict[str, object]:
    labels = [
        (label, label is diagnostic.primary)
        for label in (diagnostic.primary, *diagnostic.secondary)
    ]
    return {
        "code": f"FSQL-{diagnostic.code}",
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "source": source.name if source else None,
        "labels": [
            _json_label(label, source, primary=primary) for label, primary in labels if label
        ],
        "notes": diagnostic.notes,
        "helps": diagnostic.helps,
    }


def _json_label(label: Label, source: SourceText | None, *, primary: bool) -> dict[str, object]:
    start, end = label.span.start, label.span.end
    fields: dict[str, object] = {"start": start, "end": end}
    if source is not None:
        fields["line"], fields["column"] = source.line_column(start)
        fields["end_line"], fields["end_column"] = source.line_column(end)
    return {"primary": primary, "message": label.message, **fields}
