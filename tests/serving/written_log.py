"""Logs of results that a test writes itself, without a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.connectors.results.log import VERSION, Frame, Header, frame_parts, row_schema
from fsql.connectors.results.store import ResultStore
from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import OpenRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = (("k", "STRING", True), ("n", "BIGINT", True))
SCHEMA = row_schema([pa.string(), pa.int64()])


class Log:
    """A store that is given changes of a table of keys, one position for each number."""

    def __init__(self, state: Path, table: str = "t", epoch: int = 1, begins: Root = START) -> None:
        (state / "positions").mkdir(exist_ok=True)
        header = Header(
            VERSION, "", table, COLUMNS, (0,), appends=False, follows=(START.time, START.origin)
        )
        self.store = ResultStore(state / "positions" / f"insert-{table}", header)
        self.epoch = epoch
        self.position = self.store.open(
            OpenRequest(epoch, begins, DeliveryOption.EXACTLY_ONCE, "job")
        )

    def write(
        self, at: int, changes: Sequence[tuple[int, str, int]], *, commits: bool = True
    ) -> None:
        """Write changes of one position, and with `commits` the position after it."""
        count = len(changes)
        columns = [
            pa.array(np.full(count, at)),
            pa.array(np.zeros(count, np.int64)),
            pa.array([operation for operation, _, _ in changes], pa.int8()),
            pa.array([key for _, key, _ in changes], pa.string()),
            pa.array([value for _, _, value in changes], pa.int64()),
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
        self.store.append(frame_parts(Frame.ROWS, batch.serialize()))
        if commits:
            self.reach(at + 1)

    def reach(self, at: int) -> None:
        self.store.commit(Root(at, 0))
