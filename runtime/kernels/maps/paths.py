"""The map functions that change only the path of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.graph import Pad, Renumber, ScanRows
from fsql.runtime.batch import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

PathFunction = ScanRows | Renumber | Pad


def with_changed_path(function: PathFunction, rows: Batch, columns: Sequence[pa.Array]) -> Batch:
    """Return rows with these columns, and the path that a function makes; their order does not change."""
    path = rows.path if not isinstance(function, Renumber) else ()
    appended = (
        [-1] * (function.depth - len(path)) if isinstance(function, Pad) else [function.ordinal]
    )
    levels: list[NDArray[np.int64]] = [np.full(len(rows), each, np.int64) for each in appended]
    return Batch(
        columns,
        rows.time,
        rows.origin,
        (*path, *levels),
        rows.weight,
        rows.known_span,
        rows.ascending,
    )
