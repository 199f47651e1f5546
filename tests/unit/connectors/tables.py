"""Tables and sink tables as the compiler hands them to the connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.logical import Changes, SinkTable, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT
from fsql.connectors.opening import open_sink
from fsql.runtime.batch import Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.drivers.output_writer import OutputWriter
from fsql.runtime.ports import Release

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import BinaryIO

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


class Writer:
    """Writes rows to a sink as a run that keeps no state does."""

    def __init__(self, table: SinkTable, directory: Path, stdout: BinaryIO | None = None) -> None:
        consumer = open_sink(table, directory, stdout=stdout)
        self._writer = OutputWriter(Output(DeliveryOption.NONE, insert=0), consumer)
        self._time = 0

    def write(self, *columns: pa.Array, operations: Sequence[int] | None = None) -> None:
        time = np.full(len(columns[0]), self._time, np.int64)
        labels = None if operations is None else np.array(operations, np.int8)
        self._time += 1
        if len(time):
            self._writer.take(Released(0, Release(columns, labels, time, np.zeros_like(time))))
        self._writer.advance(Root(self._time, 0))

    def close(self) -> None:
        self._writer.close()
