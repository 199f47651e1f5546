"""Arrow maps, whose entries can be in any order, as columns of MAP."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.map_entries import key_identity, key_order
from fsql.runtime.arrow_types import from_arrow, struct_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.compiler.sqltypes import SqlType


class MapParts(NamedTuple):
    """The concatenated entries of a column of maps, the number in each map, and which maps are NULL."""

    keys: pa.Array
    values: pa.Array
    lengths: NDArray[np.int64]
    null: NDArray[np.bool_]


def map_parts(array: pa.MapArray) -> MapParts:
    """Return the parts of a column, which may be a slice."""
    null = array.is_null().to_numpy(zero_copy_only=False)
    bounds = np.asarray(array.offsets).astype(np.int64)
    lengths = np.where(null, 0, np.diff(bounds))
    at = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    indexes = pa.array(at + np.repeat(bounds[:-1], lengths))
    return MapParts(array.keys.take(indexes), array.items.take(indexes), lengths, null)


def maps_by_key(parts: MapParts, sql_type: SqlType) -> pa.ListArray:
    """Return the column of maps; a map with a NULL or duplicate key becomes NULL."""
    keys = from_arrow(parts.keys, sql_type.key)
    invalid = parts.null.copy()
    order: list[int] = []
    ends = np.cumsum(parts.lengths).tolist()
    start = 0
    kept = np.zeros(len(invalid), np.int64)
    for row, end in enumerate(ends):
        row_keys = keys[start:end]
        if None in row_keys or len(set(map(key_identity, row_keys))) < len(row_keys):
            invalid[row] = True
        else:
            order += sorted(range(start, end), key=lambda at: key_order(keys[at]))
            kept[row] = end - start
        start = end
    assert sql_type.element is not None
    indexes = pa.array(order, pa.int64())
    entries = struct_of([parts.keys.take(indexes), parts.values.take(indexes)], sql_type.element)
    offsets = pa.array(np.append(0, np.cumsum(kept)), pa.int32())
    return pa.ListArray.from_arrays(offsets, entries, mask=pa.array(invalid))
