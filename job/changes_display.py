"""The display of results at a prompt and in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

CHANGES_MAX: Final = 10_000
"""A result is shown after at most this many changes: a query may be unbounded."""
ROWS_MAX: Final = 20
_CHARACTERS_MAX: Final = 120
_NUMBERS: Final = (int, float)


class Shown(NamedTuple):
    """The rows that are left after some changes; `extent` says after which."""

    rows: pa.Table
    changes: int
    extent: Literal["changes", "first changes", "changes so far"]

    @property
    def caption(self) -> str:
        """Return how many rows and changes there are."""
        rows = "1 row" if self.rows.num_rows == 1 else f"{self.rows.num_rows:,} rows"
        extent: str = self.extent
        if self.changes == 1:
            extent = extent.replace("changes", "change")
        return f"{rows} after {self.changes:,} {extent}"


def as_text(shown: Shown) -> str:
    """Return the first rows as aligned columns."""
    names = shown.rows.column_names
    lines = [names, *([_text(value) for value in row] for row in _first_rows(shown))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([*text, *_left_out(shown), f"({shown.caption})"])


def as_html(shown: Shown) -> str:
    """Return the first rows as a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.rows.column_names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in _first_rows(shown))
    tables_not_at_rest = "".join(f"{line}; " for line in _left_out(shown))
    return (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
        f"<p>{tables_not_at_rest}{shown.caption}</p>\n"
    )


def _first_rows(shown: Shown) -> list[tuple[object, ...]]:
    rows = shown.rows.slice(0, ROWS_MAX)
    if not rows.num_columns:
        return []
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _left_out(shown: Shown) -> list[str]:
    more = shown.rows.num_rows - ROWS_MAX
    return [f"… {more:,} more row{'' if more == 1 else 's'}"] if more > 0 else []


def _cell(value: object) -> str:
    is_number = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    style = ' style="text-align: right"' if is_number else ""
    return f"<td{style}>{escape(_text(value))}</td>"


def _text(value: object) -> str:
    text = "NULL" if value is None else str(value)
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return text if len(text) <= _CHARACTERS_MAX else f"{text[: _CHARACTERS_MAX - 1]}…"
