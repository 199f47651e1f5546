"""Rows that workers encode: what the barrier makes of their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.compiler.tick_plan import SinkPort
from fsql.connectors.released_lines import ReleasedLines
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.batch import END, Batch
from fsql.runtime.dataflow.barrier import Barrier, Released
from fsql.runtime.dataflow.messages import Address, Parcel, PortKind
from fsql.runtime.dataflow.row_encoding import RowEncoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

COLUMNS = (Column("k", STRING), Column("n", BIGINT))


class _RowByRow(JsonEncoder):
    """Encodes each row on its own, into an array of its own."""

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[pa.LargeBinaryArray]:
        return [
            line
            for row in range(len(columns[0]))
            for line in super(_RowByRow, self).encode_rows(
                [column.slice(row, 1) for column in columns],
                None if operations is None else operations[row : row + 1],
            )
        ]


def written(port: SinkPort, *batches: Batch) -> str:
    """Return what a barrier releases of rows that workers encode."""
    names, types = zip(*((column.name, column.type) for column in COLUMNS), strict=True)
    labels = None if port.table.changes is Changes.APPEND else "op"
    encoder = _RowByRow(names, types, labels)
    encoding = RowEncoding(port, encoder)
    barrier = Barrier([port], 0, encodings={0: encoding})
    for batch in batches:
        for part in encoding.encode(batch):
            barrier.accept(Parcel(Address(0, 0, PortKind.SINK), part, repairs=True))
    lines = ReleasedLines(encoder)
    text = b""
    for contents in barrier.advance(END):
        assert isinstance(contents, Released)
        text += b"".join(lines(contents))
    return text.decode()


def rows(
    values: Sequence[tuple[str, int]], roots: Sequence[int], weight: Sequence[int], *more: pa.Array
) -> Batch:
    keys, numbers = zip(*values, strict=True)
    columns = [pa.array(keys), pa.array(numbers), *more]
    path = () if more else (np.zeros(len(roots), np.int64),)
    origin = np.zeros(len(roots), np.int64)
    return Batch(columns, np.array(roots), origin, path, np.array(weight))


def table(changes: Changes) -> SinkTable:
    return SinkTable("s", COLUMNS, (), changes, None if changes is Changes.APPEND else (0,))


def test_an_undone_row_is_not_released_and_the_others_are_in_order() -> None:
    port = SinkPort(
        table(Changes.APPEND), append_only=True, may_tie=False, depth=1, consolidated=False
    )
    early = rows([("b", 1), ("a", 2), ("c", 3)], [5, 2, 9], [1, 1, 1])
    undo = rows([("a", 2), ("a", 7)], [2, 2], [-1, 1])
    assert written(port, early, undo) == '{"k":"a","n":7}\n{"k":"b","n":1}\n{"k":"c","n":3}\n'


def test_the_barrier_labels_removals_and_updates() -> None:
    port = SinkPort(
        table(Changes.RETRACT), append_only=False, may_tie=False, depth=0, consolidated=False
    )
    changes = rows([("a", 1), ("a", 2), ("b", 3), ("c", 4)], [1, 1, 1, 2], [1, -1, -1, 1])
    assert written(port, changes) == (
        '{"op":"-U","k":"a","n":2}\n{"op":"+U","k":"a","n":1}\n'
        '{"op":"-D","k":"b","n":3}\n{"op":"+I","k":"c","n":4}\n'
    )


def test_an_undo_of_a_marked_row_is_not_a_removal() -> None:
    port = SinkPort(
        table(Changes.UPSERT),
        append_only=False,
        may_tie=False,
        depth=0,
        consolidated=True,
        marked=True,
    )
    marks = pa.array([True, False, False])
    sent = rows([("a", 1), ("b", 2), ("c", 3)], [1, 1, 1], [1, 1, -1], marks)
    undone = rows([("a", 1), ("a", 9)], [1, 1], [-1, 1], pa.array([True, True]))
    assert written(port, sent, undone) == (
        '{"op":"+U","k":"a","n":9}\n{"op":"+I","k":"b","n":2}\n{"op":"-D","k":"c","n":3}\n'
    )
