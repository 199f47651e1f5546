"""Encodes rows for their sink, on the worker that has computed them.

To encode a row costs more than to order it, so workers encode, and the barrier orders and passes on bytes.
A batch of encoded rows has the lines in its first column, followed by the columns that the barrier needs to
order and to consolidate rows:

* none, if no two rows share a position;
* the key, if there is at most one change of a key at a root;
* all columns otherwise.

If the rows are sharded, the column after the lines has the numbers of their shards.

A worker does not know whether a row with a negative weight is a removal, or undoes an addition that was sent
too early.  So it gives every row the label of an addition, and an undo has the bytes of the row that it
undoes.  The barrier, which knows the sum of the weights, changes the label in the lines of other operations.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import Changes
from fsql.compiler.records import dataclass
from fsql.runtime.batch import Batch
from fsql.runtime.dataflow.sharded_rows import position_texts, shard_numbers
from fsql.runtime.ports import INSERT, OPERATIONS, UPDATE_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.analysis.sharding import Sharding
    from fsql.compiler.tick_plan import SinkPort, TickPlan

    Operations = NDArray[np.int8]

_LABELS: Final = np.array([list(label.encode()) for label in OPERATIONS], np.uint8)


class RowEncoder(Protocol):
    """Encodes each row as one line; equal rows give equal lines.

    `label_at` is the byte of a line at which the label of its operation begins, if the lines have labels.
    """

    @property
    def label_at(self) -> int:
        """Return where labels begin."""

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: Operations | None
    ) -> Sequence[pa.LargeBinaryArray]:
        """Return the lines, in order, in one or more arrays.

        Raises:
            FsqlError: E535, if a row is too long.
        """


@dataclass(frozen=True, slots=True)
class RowEncoding:
    """How the rows of one INSERT are encoded.

    With a `sharding` the encoder is given positions before the columns.
    """

    port: SinkPort
    encoder: RowEncoder
    sharding: Sharding | None = None

    @property
    def made_columns(self) -> int:
        """Return the number of columns before those that order rows."""
        return 1 if self.sharding is None else 2

    def encode(self, batch: Batch) -> list[Batch]:
        """Return the rows with their lines, in one or more batches.

        Raises:
            FsqlError: E535, if a row is too long.
        """
        columns = batch.columns
        operations = None
        if self.port.table.changes is not Changes.APPEND:
            operations = np.full(len(batch), INSERT, np.int8)
        if self.port.marked:
            replaces = columns[-1].to_numpy(zero_copy_only=False)
            operations = np.where(replaces, np.int8(UPDATE_AFTER), np.int8(INSERT))
            columns = columns[:-1]
        ordering = [columns[index] for index in self._order_columns(len(columns))]
        if (sharding := self.sharding) is not None:
            roots = batch.time, batch.origin
            numbers = shard_numbers(sharding.shards, sharding.shard_key, columns, *roots)
            ordering = [pa.array(numbers), *ordering]
            columns = [position_texts(*roots), *columns]
        encoded = self.encoder.encode_rows(columns, operations)
        if len(encoded) == 1:
            return [batch.with_columns([encoded[0], *ordering])]
        start, batches = 0, []
        for lines in encoded:
            batches.append(_part(batch, start, lines, ordering))
            start += len(lines)
        return batches

    def _order_columns(self, columns: int) -> Sequence[int]:
        if self.port.append_only and not self.port.may_tie:
            return ()
        if self.port.marked:
            return self.port.table.key or ()
        return range(columns)

    def label(self, lines: pa.LargeBinaryArray, operations: Operations) -> pa.LargeBinaryArray:
        """Return the lines with the labels of operations; they have the label of INSERT already."""
        rows = np.flatnonzero(operations != INSERT)
        if not len(rows):
            return lines
        _, offsets, text = lines.buffers()
        begins = np.frombuffer(offsets, np.int64)[lines.offset :]
        data = np.frombuffer(text, np.uint8).copy()
        labels = _LABELS[operations[rows]]
        at = begins[rows] + self.encoder.label_at
        data[at], data[at + 1] = labels[:, 0], labels[:, 1]
        buffers = [None, offsets, pa.py_buffer(data)]
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(lines), buffers, 0, lines.offset
        )


def _part(
    batch: Batch, start: int, lines: pa.LargeBinaryArray, ordering: Sequence[pa.Array]
) -> Batch:
    """Return the rows of a batch whose lines these are, the first of which is row `start`."""
    stop = start + len(lines)
    return Batch(
        [lines, *(column.slice(start, len(lines)) for column in ordering)],
        batch.time[start:stop],
        batch.origin[start:stop],
        tuple(level[start:stop] for level in batch.path),
        None if batch.weight is None else batch.weight[start:stop],
        ascending=batch.ascending,
    )


def row_encodings(
    plan: TickPlan,
    encoder_of: Callable[[SinkPort], RowEncoder | None],
    shardings: Mapping[int, Sharding | None] = MappingProxyType({}),
) -> Mapping[int, RowEncoding]:
    """Return the encodings of the INSERTs of a plan whose rows workers encode, by number.

    `shardings` are those of INSERTs whose rows are sharded.
    """
    encoders = [(port, encoder_of(port)) for port in plan.sinks]
    return {
        insert: RowEncoding(port, encoder, shardings.get(insert))
        for insert, (port, encoder) in enumerate(encoders)
        if encoder is not None
    }
