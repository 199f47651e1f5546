"""Tables and sink tables as the compiler hands them to the connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.logical import Changes, SinkTable, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fsql.compiler.schema import Schema

NUMBERS: Schema = (Column("n", BIGINT),)


def table(columns: Schema = NUMBERS, /, **options: str) -> Table:
    return Table(
        name="t",
        ordinal=0,
        columns=columns,
        options=tuple(options.items()),
        time=TimeKind.OFFSET,
    )


def sink(
    columns: Schema = NUMBERS, changes: Changes = Changes.APPEND, /, **options: str
) -> SinkTable:
    return SinkTable(
        name="s", columns=columns, options=tuple(options.items()), changes=changes, key=None
    )


def release(*columns: pa.Array, operations: Sequence[int] | None = None) -> Release:
    rows = np.zeros(len(columns[0]), np.int64)
    labels = None if operations is None else np.array(operations, np.int8)
    return Release(columns, labels, rows, rows)
