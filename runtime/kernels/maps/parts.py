"""ToParts: the part of each row's key, where rows of hot keys are divided (`logical.HotKeys`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import Batch
from fsql.runtime.hashing import hash_rows, mix
from fsql.runtime.kernels.expressions import Program
from fsql.runtime.kernels.expressions.vectors import to_array
from fsql.runtime.kernels.maps.map_result import (
    MapResult,
    errors_at,
    repeat_columns,
    repeats_of,
    succeeded,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.graph import ToParts
    from fsql.runtime.arrays import Ints


_BLOCK_BITS: Final = 8
_TRIES: Final = 64
"""How many numbers are tried for each part: one is missing for 1 of 10^27 keys."""


def compile_to_parts(function: ToParts) -> Callable[[Batch], MapResult]:
    """Return the map: the input's columns, and the number of the part, 0 for a key that is not hot."""
    program = Program([function.key])
    kind = arrow_type(function.key.type)
    hot = pa.array(function.values, kind)
    table = np.stack([_numbers(hot.slice(row, 1), function.parts) for row in range(len(hot))])

    def apply(batch: Batch) -> MapResult:
        (vector,) = program.run(batch.columns)
        keys = to_array(vector, function.key.type, len(batch))
        errors = errors_at(batch, vector.failed)
        if errors is not None:
            assert vector.failed is not None
            kept = succeeded(vector.failed, len(batch))
            batch, keys = batch.take(kept), keys.take(pa.array(kept))
        found = _index_in(keys, hot)
        is_hot = found >= 0
        if function.copied and is_hot.any():
            return MapResult(_copy(batch, found, table), errors)
        parts = np.zeros(len(batch), np.int64)
        if is_hot.any():
            rows = np.flatnonzero(is_hot)
            parts[rows] = table[found[rows], _part_of_position(batch, rows, function.parts)]
        return MapResult(batch.with_columns([*batch.columns, pa.array(parts)]), errors)

    return apply


def _copy(batch: Batch, found: Ints, table: Ints) -> Batch:
    """Return the batch with each hot row once for each part, at its position."""
    lengths = np.where(found >= 0, table.shape[1], 1)
    repeats = repeats_of(lengths)
    of_row = found[repeats.row]
    parts = np.where(of_row >= 0, table[of_row, repeats.ordinal], 0)
    return Batch(
        [*repeat_columns(batch.columns, repeats.row), pa.array(parts)],
        batch.time.repeat(lengths),
        batch.origin.repeat(lengths),
        tuple(level.repeat(lengths) for level in batch.path),
        None if batch.weight is None else batch.weight.repeat(lengths),
        batch.span(),
    )


def _index_in(keys: pa.Array, hot: pa.Array) -> Ints:
    """Return for each key its index in `hot`, or -1."""
    if isinstance(keys, pa.DictionaryArray):
        table = np.append(_index_in(keys.dictionary, hot), -1)
        rows = keys.indices.fill_null(len(table) - 1)
        return table[rows.to_numpy(zero_copy_only=False)]
    found = pc.index_in(keys, value_set=hot).fill_null(-1)
    return found.to_numpy(zero_copy_only=False).astype(np.int64)


def _part_of_position(batch: Batch, rows: Ints, parts: int) -> Ints:
    """Return the part of each of some rows, from 0: a hash of its position, even over ascending positions.

    Rows of a table that follow each other are in one part, up to 256 of them: so a batch has few groups of
    rows that are next to each other, which are found and moved faster.
    """
    origin = batch.origin[rows]
    time = np.where(origin < 0, batch.time[rows], 0)
    total = np.zeros(len(rows), np.uint64)
    for number, level in enumerate(
        (time, origin >> _BLOCK_BITS, *(each[rows] for each in batch.path))
    ):
        total += level.view(np.uint64) * np.uint64(mix(number) | 1)
    return ((total >> np.uint64(32)) * np.uint64(parts) >> np.uint64(32)).view(np.int64)


def _numbers(key: pa.Array, parts: int) -> Ints:
    """Return a number other than 0 for each part of a key, so that together with it they hash evenly.

    Part i has a hash in the i-th of `parts` equal ranges.  So owners of equal ranges of bins have equally
    many parts.  (This holds where the key has one expression.)
    """
    count = _TRIES * parts
    numbers = np.arange(1, count + 1)
    hashes = hash_rows([key.take(pa.array(np.zeros(count, np.int64))), pa.array(numbers)], count)
    ranges = (hashes.astype(np.uint64) * np.uint64(parts) >> np.uint64(32)).view(np.int64)
    first = np.full(parts, count)
    np.minimum.at(first, ranges, np.arange(count))
    # A range without a number gets one that no other part has.
    return np.where(first < count, first + 1, count + 1 + np.arange(parts))
