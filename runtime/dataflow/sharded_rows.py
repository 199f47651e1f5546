"""The columns that sharded outputs add to rows: the number of the shard, and the position as text.

Both depend on the row and its root position alone, so every worker computes the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.hashing import hash_rows
from fsql.runtime.order import starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints


SEPARATOR: Final = ":"
"""Separates the time and the origin of a position."""
_HASH_BITS: Final = np.uint64(32)


def shard_numbers(
    shards: int,
    shard_key: Sequence[int] | None,
    columns: Sequence[pa.Array],
    time: Ints,
    origin: Ints,
) -> NDArray[np.int16]:
    """Return the shard of each row; a shard has a range of hashes.

    Rows go to shards by the columns `shard_key`, or by their root positions if that is None.
    """
    keys = (
        [pa.array(time), pa.array(origin)]
        if shard_key is None
        else [columns[index] for index in shard_key]
    )
    hashes = hash_rows(keys, len(time)).astype(np.uint64)
    return (hashes * np.uint64(shards) >> _HASH_BITS).astype(np.int16)


def position_texts(time: Ints, origin: Ints) -> pa.DictionaryArray:
    """Return the position of each row as text; rows of one root are adjacent."""
    starts = starts_of_runs(time, origin)
    lengths = np.diff(np.append(starts, len(time)))
    roots = zip(time[starts].tolist(), origin[starts].tolist(), strict=True)
    texts = pa.array([f"{time}{SEPARATOR}{origin}" for time, origin in roots], pa.string())
    numbers = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
    return pa.DictionaryArray.from_arrays(pa.array(numbers), texts)
