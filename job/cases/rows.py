"""Rows of cases, expected and actual, as values that can be compared.

A number is a `Decimal`, so that `1` and `1.0` are equal, and no digits are lost.
"""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fsql.job.net_rows import NetRows

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from fsql.compiler.logical import SinkTable

    Row = dict[str, Any]


class RowsError(ValueError):
    """A line of rows cannot be read; `line` counts from 0."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def json_rows(text: str) -> list[Row]:
    """Return the rows of JSON lines, without empty lines.

    Raises:
        RowsError: if a line is not a JSON object.
    """
    rows = []
    for number, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_int=Decimal, parse_float=Decimal)
        except ValueError as error:
            raise RowsError(number, f"the line is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise RowsError(number, "the line is not a JSON object")
        rows.append(row)
    return rows


def csv_rows(text: str) -> list[Row]:
    """Return the rows of CSV with a header, as texts.

    Raises:
        RowsError: if the number of fields of a row differs from that of the header.
    """
    lines = list(csv.reader(io.StringIO(text)))
    lines = [line for line in lines if line]
    if not lines:
        return []
    names = lines[0]
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(names):
            raise RowsError(number, f"the row has {len(line)} fields, the header {len(names)}")
    return [dict(zip(names, line, strict=True)) for line in lines[1:]]


def cell_text(value: object) -> str:
    """Return a value as a field of CSV; NULL is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def json_text(value: object) -> str:
    """Return a value as JSON without spaces, its numbers as they were written."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            return "{" + ",".join(f"{json_text(k)}:{json_text(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(json_text, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def csv_text(rows: Sequence[Row]) -> str:
    """Return rows as CSV with a header."""
    names = column_names(rows)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    if names:
        writer.writerow(names)
    writer.writerows([cell_text(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def column_names(rows: Sequence[Row]) -> list[str]:
    """Return the names of the columns of rows, in the order of their first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row))


def final_rows(changes: Sequence[Row], sink: SinkTable) -> list[Row]:
    """Return the rows that are left after all changes to a table, without the kinds of changes."""
    left = NetRows(sink, json_text)
    for change in changes:
        left.apply(change)
    return left.rows()


def difference(
    expected: Sequence[Row], actual: Sequence[Row], *, ordered: bool
) -> list[tuple[str, Row]]:
    """Return the rows of both with a mark: `-` is missing, `+` is not expected, ` ` is in both."""
    if ordered:
        return list(_in_order(expected, actual))
    unmatched = list(actual)
    marked: list[tuple[str, Row]] = []
    for row in expected:
        if row in unmatched:
            unmatched.remove(row)
            marked.append((" ", row))
        else:
            marked.append(("-", row))
    return [*marked, *(("+", row) for row in unmatched)]


def _in_order(expected: Sequence[Row], actual: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    from difflib import SequenceMatcher

    before, after = ([_key(row) for row in rows] for rows in (expected, actual))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag == "equal":
            yield from ((" ", row) for row in actual[b:b_end])
        else:
            yield from (("-", row) for row in expected[a:a_end])
            yield from (("+", row) for row in actual[b:b_end])


def _key(value: object) -> Hashable:
    """Return a hashable key of a value; the keys of two values are equal exactly if the values are."""
    if isinstance(value, dict):
        return ("row", frozenset((name, _key(each)) for name, each in value.items()))
    if isinstance(value, list):
        return ("list", tuple(map(_key, value)))
    return (type(value).__name__, value)
