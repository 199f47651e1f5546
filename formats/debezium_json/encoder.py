"""Encodes rows and their changes as Debezium change events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.ports import INSERT, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.logical import SinkTable
    from fsql.formats.settings import Settings

_ADDED: Final = '{"before":null,"after":', ',"op":"c"}\n'
_REPLACED: Final = '{"before":null,"after":', ',"op":"u"}\n'
_REMOVED: Final = '{"before":', ',"after":null,"op":"d"}\n'


def make_encoder(sink: SinkTable, settings: Settings) -> DebeziumEncoder:
    """Return the encoder of the rows of a table."""
    del settings
    return DebeziumEncoder(sink)


class DebeziumEncoder:
    """Encodes batches of rows; a row that replaces another one in an upsert table is an update."""

    header = b""
    label_at = 0

    def __init__(self, sink: SinkTable) -> None:
        names = [column.name for column in sink.columns]
        self._rows = JsonEncoder(names, [column.type for column in sink.columns])
        replaced = _REPLACED if sink.changes.value == "upsert" else _ADDED
        around = {"+I": _ADDED, "-U": _REMOVED, "+U": replaced, "-D": _REMOVED}
        self._before, self._after = (
            pa.array([around[operation][side] for operation in OPERATIONS], pa.large_string())
            for side in (0, 1)
        )

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> Sequence[pa.Buffer]:
        """Return whole lines, in order."""
        return [
            pa.py_buffer(b"".join(lines.cast(pa.large_binary()).to_pylist()))
            for lines in self._events(columns, operations)
        ]

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> Sequence[pa.LargeBinaryArray]:
        """Return the event of each row."""
        return [lines.cast(pa.large_binary()) for lines in self._events(columns, operations)]

    def _events(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> list[pa.LargeStringArray]:
        made, start = [], 0
        for lines in self._rows.encode_rows(columns, None):
            rows = pc.utf8_rtrim(lines.cast(pa.large_string()), "\n")
            kinds = np.full(len(lines), INSERT, np.int8)
            if operations is not None:
                kinds = operations[start : start + len(lines)]
            start += len(lines)
            at = pa.array(kinds)
            around = self._before.take(at), self._after.take(at)
            made.append(
                pc.binary_join_element_wise(
                    around[0], rows, around[1], pa.scalar("", pa.large_string())
                )
            )
        return made
