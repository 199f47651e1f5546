"""The events of Nexmark as Parquet files, the same ones on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.connectors.nexmark.events import KINDS, Nexmark, event_numbers, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.arrays import Ints


SIDE_INPUT: Final = "side_input"
_SIDE_ROWS: Final = 10_000
_SIDE_TIME: Final = "2015-07-14T00:00:00Z"
_ROWS_AT_ONCE: Final = 1 << 18


def in_order(numbers: Ints) -> Ints:
    """Return the numbers of the rows as they are."""
    return numbers


def write_events(
    directory: Path, events: int, event_rate: int, order: Callable[[Ints], Ints] = in_order
) -> None:
    """Write `person.parquet`, `auction.parquet`, `bid.parquet` and `side_input.csv`.

    Args:
        directory: where the files are written.
        events: how many events there are of all kinds.
        event_rate: events in a second of event time.
        order: returns the numbers of the events of a file in the order of its rows.
    """
    generator = Nexmark(0, event_rate)
    for kind, columns in KINDS.items():
        numbers = order(event_numbers(kind, np.arange(rows_of(kind, events))))
        schema = pa.schema(
            [(name, make(generator, numbers[:0]).type) for name, (_, make) in columns.items()]
        )
        with pq.ParquetWriter(directory / f"{kind}.parquet", schema) as writer:
            for first in range(0, len(numbers), _ROWS_AT_ONCE):
                some = numbers[first : first + _ROWS_AT_ONCE]
                arrays = [make(generator, some) for _, make in columns.values()]
                writer.write_table(pa.table(arrays, schema=schema))
    side = "".join(f"{key},value {key},{_SIDE_TIME}\n" for key in range(_SIDE_ROWS))
    (directory / f"{SIDE_INPUT}.csv").write_text(f"key,value,at\n{side}")
