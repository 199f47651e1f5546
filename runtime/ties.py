"""Codes of columns by which rows are compared, computed only where other columns leave rows equal.

Ranking texts takes most of the time of a comparison of rows, and the integer columns before them nearly
always decide it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.order import lexicographic_order, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.arrays import Ints


def tie_breaking_codes(
    codes: Sequence[Ints], columns: Sequence[pa.Array], code_of: Callable[[pa.Array], Ints]
) -> list[Ints]:
    """Return `codes`, followed by codes of `columns`: 0 for rows that are unique by `codes`.

    Rows compare by the result as they compare by the codes of all columns.
    """
    count = len(codes[0])
    if count <= FEW_ROWS or not columns:
        return [*codes, *map(code_of, columns)]
    order = lexicographic_order(codes)
    starts = starts_of_runs(*(codes if order is None else [code[order] for code in codes]))
    sizes = np.diff(np.append(starts, count))
    equal = np.flatnonzero(np.repeat(sizes > 1, sizes))
    if len(equal) == 0:
        return list(codes)
    rows = equal if order is None else order[equal]
    taken, found = pa.array(rows), list(codes)
    for column in columns:
        code = np.zeros(count, np.int64)
        code[rows] = code_of(column.take(taken))
        found.append(code)
    return found
