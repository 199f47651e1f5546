"""Columns into JSON lines, byte for byte as `docs/internals/semantics.md`, "JSON out", has it.

Nothing runs for a single row: every column says which pieces of text stand where (`json_columns`), and
one `take` writes them all (`json_pieces`).  Between the columns stands the *frame*: keys, colons and
commas, with the quotes and brackets that the columns leave to it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.connectors.json_columns import PiecesOfBatch, format_column
from fsql.runtime.connectors.json_pieces import OPERATIONS, STANDARD, Part, sequence, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.sqltypes import SqlType


def encode(
    columns: Sequence[pa.Array],
    names: Sequence[str],
    types: Sequence[SqlType],
    operations: NDArray[np.int8] | None = None,
    operation_name: str = "op",
) -> bytes:
    """Return the rows as JSON lines; who encodes more than one batch keeps a `JsonEncoder`."""
    encoder = JsonEncoder(names, types, None if operations is None else operation_name)
    return b"".join(encoder.encode(columns, operations))


class JsonEncoder:
    """Encodes batches of rows of one schema; without an `operation_name` they are all additions."""

    def __init__(
        self, names: Sequence[str], types: Sequence[SqlType], operation_name: str | None = None
    ) -> None:
        self._types = tuple(types)
        self._keys = [_key(name) for name in names]
        self._operation_key = None if operation_name is None else _key(operation_name)
        self._standard: dict[tuple[str, ...], pa.StringArray] = {}

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None = None
    ) -> list[pa.Buffer]:
        """Return whole lines in order, in buffers of less than 1 GiB.

        `operations` are indexes into `fsql.runtime.ports.OPERATIONS`, one a row; they are given
        exactly if the encoder has a name for them.
        """
        assert (operations is None) == (self._operation_key is None)
        rows = len(columns[0])
        if rows == 0:
            return []
        buffer = self._encode(columns, operations)
        if buffer is not None:
            return [buffer]
        assert rows > 1, "a row of more than 1 GiB"
        buffers = []
        for low, high in ((0, rows // 2), (rows // 2, rows)):
            half = [column.slice(low, high - low) for column in columns]
            buffers += self.encode(half, None if operations is None else operations[low:high])
        return buffers

    def _encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> pa.Buffer | None:
        """Return the lines in one buffer, None if it would be too long."""
        rows = len(columns[0])
        frame: list[str] = []
        parts: list[Part] = []

        def in_frame(text: str) -> None:
            parts.append(len(STANDARD) + len(frame))
            frame.append(text)

        between = "{"
        if operations is not None:
            in_frame(f'{{{self._operation_key}"')
            parts.append(operations.astype(np.int32) + OPERATIONS)
            between = '",'
        pieces = PiecesOfBatch(len(STANDARD) + len(frame) + len(columns) + 1)
        for column, sql_type, key in zip(columns, self._types, self._keys, strict=True):
            opening, values, closing = format_column(column, sql_type, pieces)
            in_frame(f"{between}{key}{opening}")
            parts += values
            between = f"{closing},"
        in_frame(f"{between[:-1]}}}\n")
        return written(
            pa.concat_arrays([self._with_frame(tuple(frame)), *pieces.arrays]),
            sequence(parts, rows).indexes,
        )

    def _with_frame(self, frame: tuple[str, ...]) -> pa.StringArray:
        """Return the standard pieces and behind them those of the frame."""
        if frame not in self._standard:
            framed = pa.concat_arrays([STANDARD, pa.array(frame, pa.string())])
            self._standard[frame] = framed
        return self._standard[frame]


def _key(name: str) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}:"
