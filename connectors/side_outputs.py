"""Side outputs: malformed and late rows as JSON lines, to show what a result leaves out.

Both are written when the barrier releases them, so they are consistent with the results.

A line of rejects has the origin of the row and the reason:

    {"source":"t","split":"a.jsonl","row":3,"line":4,"byte":61,"code":"FSQL-E513",…}

`row` counts from 0 and `line` from 1; unknown values are null.  If the split consists of several files,
`split` names the one with this line, and `row` counts the rows of all.  A line of late rows has the columns
that the operator was given, followed by the row's origin (`source`, `split`, `row`) and the `reason`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import PUNCTUATION, origin_parts
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.ports import Split


_ORIGIN: Final[Schema] = (Column("source", STRING), Column("split", STRING), Column("row", BIGINT))
_REASON: Final = Column("reason", STRING)
_FAULT: Final[Schema] = (
    Column("line", BIGINT),
    Column("byte", BIGINT),
    Column("code", STRING),
    Column("field", STRING),
    _REASON,
    Column("excerpt", STRING),
)
_LATE: Final[Schema] = (*_ORIGIN, _REASON)
WINDOW_CLOSED: Final = "its window had closed"
NOTHING_TO_JOIN: Final = "no row could be joined with it any more"
_ROW_BITS: Final = 40
"""The number of bits of an origin that are the row number (`fsql.runtime.batch.origin`)."""


class Origins:
    """The table, split and row of an origin, by name."""

    def __init__(self, names: Mapping[int, str], splits: Mapping[int, Sequence[Split]]) -> None:
        """Take the names and splits of the tables, by ordinal."""
        self._names = names
        self._splits = splits

    def columns(self, origins: Ints, files: Sequence[str] = ()) -> list[pa.Array]:
        """Return table, split and row number of each origin; NULL for a punctuation, which is not a row.

        `files`, if given, are named in place of the splits, unless they are "".
        """
        splits, index = np.unique(origins >> _ROW_BITS, return_inverse=True)
        names = [self._name(int(split) << _ROW_BITS) for split in splits]
        rows = origins & (1 << _ROW_BITS) - 1
        tables, split_names = (
            pa.array(column, pa.string()).take(pa.array(index))
            for column in zip(*names, strict=True)
        )
        if any(files):
            named = pa.array([file or None for file in files], pa.string())
            split_names = pc.coalesce(named, split_names)
        return [tables, split_names, pa.array(rows, mask=origins == PUNCTUATION)]

    def _name(self, packed: int) -> tuple[str | None, str | None]:
        if packed < 0:
            return None, None
        table, split, _ = origin_parts(packed)
        return self._names[table], self._splits[table][split].name


class DeadLetterLines:
    """Encodes malformed rows as lines."""

    header = b""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._encoder = _encoder((*_ORIGIN, *_FAULT))

    def __call__(self, contents: Contents) -> list[memoryview]:
        """Return the lines of malformed rows."""
        assert isinstance(contents, DeadLetters)
        origin = np.array([root.origin for root, _ in contents.dead_letters], np.int64)
        faults = [
            (
                dead_letter.line if dead_letter.line > 0 else None,
                dead_letter.byte if dead_letter.byte >= 0 else None,
                f"FSQL-E{dead_letter.code}",
                dead_letter.field,
                dead_letter.reason,
                dead_letter.excerpt,
            )
            for _, dead_letter in contents.dead_letters
        ]
        files = [dead_letter.file for _, dead_letter in contents.dead_letters]
        columns = [*self._origins.columns(origin, files), *_arrays(faults, _FAULT)]
        return [memoryview(line) for line in self._encoder.encode(columns, None)]


class LateFrom(NamedTuple):
    """The columns of the rows that are late for an operator, and why they are late."""

    columns: Schema
    reason: str


class LateLines:
    """Encodes late rows as lines: several operators write to one output."""

    header = b""

    def __init__(self, operators: Mapping[int, LateFrom], origins: Origins) -> None:
        """Take the operators, by their numbers."""
        self._origins = origins
        self._reasons = {number: pa.array([each.reason]) for number, each in operators.items()}
        self._encoders = {
            number: _encoder((*each.columns, *_rename(_LATE, each.columns)))
            for number, each in operators.items()
        }

    def __call__(self, contents: Contents) -> list[memoryview]:
        """Return the lines of late rows."""
        assert isinstance(contents, LateRows)
        rows = contents.rows
        reason = self._reasons[contents.window].take(pa.array(np.zeros(len(rows), np.int64)))
        columns = [*rows.columns, *self._origins.columns(rows.origin), reason]
        lines = self._encoders[contents.window].encode(columns, None)
        return [memoryview(line) for line in lines]


def _encoder(columns: Schema) -> JsonEncoder:
    return JsonEncoder([column.name for column in columns], [column.type for column in columns])


def _arrays(rows: Sequence[tuple[Value, ...]], columns: Schema) -> list[pa.Array]:
    """Return the rows, at least one, as columns."""
    values = zip(*rows, strict=True)
    return [to_arrow(each, column.type) for each, column in zip(values, columns, strict=True)]


def _rename(added: Schema, columns: Schema) -> Schema:
    """Return `added`, with underscores before names that `columns` already has."""
    taken = {column.name for column in columns}
    renamed = []
    for column in added:
        name = column.name
        while name in taken:
            name = f"_{name}"
        renamed.append(replace(column, name=name))
    return tuple(renamed)
