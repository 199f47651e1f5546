"""The rows that updates replace, beside those that replace them: see `Table.replaced`.

    kind  k       kind  k   before.k
    +I    a       +I    a   NULL
    -U    a   →   -U    a   NULL
    +U    b       +U    b   a

Whether a row has one before it does not depend on the chunks of a reader: the last row of a chunk is kept for
the next.  A front does not resume between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.logical import OLD_ROW
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.order import concat_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table


class ReplacedRows:
    """The columns that the rows of one split have of the rows before them."""

    def __init__(self, table: Table) -> None:
        """Begin before the first row."""
        self._types = [arrow_type(column.type) for column in table.replaced_columns]
        self._last: list[pa.Array] | None = None
        """The values of the last row, if it is an old one."""

    @property
    def waits(self) -> bool:
        """Return whether the last row is an old one, for which the next has to be read."""
        return self._last is not None

    def add_to(self, columns: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        """Return the columns of the next rows, followed by those of the old rows before them."""
        kinds = decode_dictionary(columns[0])
        old = pc.fill_null(pc.equal(kinds, OLD_ROW), fill_value=False)
        ends = old.to_numpy(zero_copy_only=False)
        last, self._last = self._last, None
        if ends[-1]:
            self._last = [decode_dictionary(column.slice(rows - 1)) for column in columns[1:]]
        if last is None and not ends[:-1].any():
            return [*columns, *(pa.nulls(rows, kind) for kind in self._types)]
        before = np.arange(rows) - 1
        follows = np.append(last is not None, ends[:-1])
        if last is None:
            taken = pa.array(before, mask=~follows)
            return [*columns, *(column.take(taken) for column in columns[1:])]
        taken = pa.array(before + 1, mask=~follows)
        both = (concat_arrays([one, rest]) for one, rest in zip(last, columns[1:], strict=True))
        return [*columns, *(column.take(taken) for column in both)]
