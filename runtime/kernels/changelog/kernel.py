"""The kernel of the changes of roots as rows (TO_CHANGELOG).

It is an aggregate by root position that collects the rows of the root with their weights.  Whenever rows of a
root arrive, its previous changes are retracted and the new ones added, all at that root; so below min time
only the changes of the complete root remain. The state of a root is dropped when min time has passed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.graph import CombineAggregate
from fsql.compiler.sqltypes import BIGINT, array_of, row_of
from fsql.runtime.arrow_types import struct_of
from fsql.runtime.batch import Batch
from fsql.runtime.change_order import canonical_order
from fsql.runtime.dictionaries import Vocabulary, decode_dictionary
from fsql.runtime.kernels.aggregate.kernel import AggregateKernel
from fsql.runtime.kernels.keyed.kernel import KeyedRows
from fsql.runtime.kernels.maps.explode import unnest
from fsql.runtime.kernels.maps.map_result import repeats_of
from fsql.runtime.weights import consolidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import CombineChangelog
    from fsql.compiler.schema import Schema
    from fsql.runtime.kernels.aggregate.kernel import _Undo
    from fsql.runtime.kernels.keyed.kernel import ApplyResult

_ROOT_COLUMNS = 2
"""The time and the origin of the root are the last columns of the input."""
_KINDS = pa.array(["-D", "+I", "-U", "+U"])


class ChangelogKernel(AggregateKernel):
    """`graph.CombineChangelog`."""

    def __init__(self, combine: CombineChangelog, schema: Schema) -> None:
        """Begin without changes; `schema` has the columns of the input, with the root at the end."""
        own = schema[:-_ROOT_COLUMNS]
        self._label_key = combine.label_key
        self._row = row_of(
            [("weight", BIGINT), *((f"f{i}", each.type) for i, each in enumerate(own))]
        )
        row = ColumnRef(self._row, nullable=False, index=_ROOT_COLUMNS)
        collect = AggregateCall(
            AggregateFunction.ARRAY_AGG, row, array_of(self._row), nullable=False
        )
        collecting = CombineAggregate(
            tuple(ColumnRef(BIGINT, nullable=False, index=i) for i in range(_ROOT_COLUMNS)),
            (collect,),
            combine.scan_number,
            input_append_only=True,
            closing=None,
            final=False,
            idle_us=0,
        )
        super().__init__(collecting, marks_replacements=False)

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """Return the root, then the row with its weight as a value: a row and its retraction both remain."""
        weights = pa.array(batch.weights())
        rows = struct_of([weights, *batch.columns[:-_ROOT_COLUMNS]], self._row)
        columns = [*batch.columns[-_ROOT_COLUMNS:], rows]
        return super().prepare(
            side, Batch(columns, batch.time, batch.origin, batch.path, None, batch.known_span)
        )

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[_Undo]:
        applied = super().apply(sides, undoable=undoable)
        if applied.rows is not None:
            applied.rows = self._changes(applied.rows)
        return applied

    def _changes(self, collected: KeyedRows) -> KeyedRows | None:
        """Return the changes of each root in order, from arrays of its rows; None if there are none."""
        roots = collected.batch
        elements = unnest(decode_dictionary(roots.columns[_ROOT_COLUMNS]), Vocabulary())
        weight, *columns = (
            pc.struct_field(elements.values, [i]) for i in range(len(self._row.fields))
        )
        number = elements.row.astype(np.int64)
        net = consolidate(
            Batch(columns, number, np.zeros_like(number), (), weight.to_numpy()), by_path=False
        )
        if not len(net):
            return None
        order, paired = canonical_order(net, self._label_key)
        weights, number = net.weights()[order], net.time[order]
        kind = (weights > 0).astype(np.int64)
        kind[paired] += 2
        kind[paired + 1] += 2
        expanded = np.arange(len(order)).repeat(np.abs(weights))
        row = number[expanded]
        made = net.take(order[expanded]).columns
        index = repeats_of(np.bincount(row, minlength=len(roots))).ordinal
        batch = Batch(
            [*made, _KINDS.take(pa.array(kind[expanded]))],
            roots.time[row],
            roots.origin[row],
            (roots.path[0][row], index),
            None if roots.weight is None else roots.weight[row],
        )
        return KeyedRows(batch, collected.slot[row])
