"""The canonical form of a NULL row in state: Arrow does not define the fields of a NULL struct."""

from __future__ import annotations

import pyarrow as pa

from fsql.runtime.nested_types import is_nested


def null_fields(array: pa.Array) -> pa.Array:
    """Return a column with NULL in the fields of each ROW that is NULL, within arrays as well."""
    kind = array.type
    if not is_nested(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(kind):
        children = [null_fields(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    ends = array.offsets.to_numpy()
    values = null_fields(array.values.slice(ends[0], ends[-1] - ends[0]))
    return pa.ListArray.from_arrays(pa.array(ends - ends[0]), values, mask=mask)
