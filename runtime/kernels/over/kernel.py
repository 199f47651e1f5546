"""The kernel of running aggregates: for each row, the aggregate of its partition so far.

in        COUNT(*) OVER (PARTITION BY word ROWS UNBOUNDED PRECEDING)     … AND 1 PRECEDING
a         1                                                              0
b         1                                                              0
a         2                                                              1

For other frames see `frames`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.logical import FrameEnd
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import Batch
from fsql.runtime.few_rows import FEW_ROWS_IN_C
from fsql.runtime.kernels.accumulators.accumulator import SUM_OVERFLOW, struct_of
from fsql.runtime.kernels.accumulators.of_call import accumulator
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.keyed.slot_ends import IdleSlots
from fsql.runtime.kernels.keyed.slot_snapshots import SlotSnapshots
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.kernels.keyed.steps import Steps, Values, only_step, steps_of
from fsql.runtime.kernels.over.frames import Frames, take_values
from fsql.runtime.order import integers, stable_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.graph import CombineOver
    from fsql.compiler.logical import OverCall
    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.accumulators.accumulator import Accumulator
    from fsql.runtime.kernels.keyed.slot_snapshots import UndoableState


class _RunningUndo(NamedTuple):
    slots: Ints
    saved: list[Any]


class _Framed(NamedTuple):
    """The calls of one frame that is not a running one: their indexes among all calls, and its time."""

    indexes: list[int]
    time: Expression | None
    frames: Frames


class OverKernel:
    """`graph.CombineOver` over slots.  Prepared columns: partition, those of the input, then arguments.

    Rows of one position are in the order of these columns, so arguments must not precede those of the input.
    """

    def __init__(self, combine: CombineOver) -> None:
        self._combine = combine
        self._keys = len(combine.partition)
        read = [part for call in combine.calls for part in (*call.aggregate.arguments, call.time)]
        distinct = list(dict.fromkeys(part for part in read if part is not None))
        self._column_of = {part: index - len(distinct) for index, part in enumerate(distinct)}
        self._arguments = len(distinct)
        self._evaluate = Evaluator((*combine.partition, *distinct))
        self._runs_programs = any(
            call.aggregate.function is AggregateFunction.PROGRAM for call in combine.calls
        )
        self._table = SlotTable()
        self._framed = _by_frame(combine.calls)
        self._accumulators: dict[int, Accumulator] = {
            index: accumulator(call.aggregate, append_only=True)
            for index, call in enumerate(combine.calls)
            if call.is_running
        }
        for framed in self._framed:
            made = zip(framed.indexes, framed.frames.accumulators, strict=True)
            self._accumulators |= {index: one for index, one in made if one is not None}
        held = (framed.frames.rows for framed in self._framed if framed.frames.rows is not None)
        self._states: list[UndoableState] = [
            self._accumulators[index] for index in sorted(self._accumulators)
        ]
        self._states += held
        self._key_types = [arrow_type(key.type) for key in combine.partition]
        self._idle = None if combine.idle_us is None else IdleSlots(combine.idle_us)
        if self._idle is not None:
            self._states.append(self._idle)
        self._snapshots = SlotSnapshots(self._table, self._key_types, self._states, self._idle)

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        del side
        values, kept, errors = self._evaluate(batch)
        batch = batch if kept is None else batch.take(kept)
        keys, arguments = values[: self._keys], values[self._keys :]
        return batch.with_columns([*keys, *batch.columns, *arguments]), errors

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        return batch.columns[: self._keys]

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        found = self._table.find(self.keys(batch), len(batch))
        if found.any_new:
            for one in self._states:
                one.grow(len(self._table))
        return found.slots

    def apply(
        self, sides: Sequence[KeyedRows | None], *, undoable: bool
    ) -> ApplyResult[_RunningUndo]:
        assert sides[0] is not None
        batch, slot = sides[0]
        if self._runs_programs and batch.weight is not None:
            # Each event causes rows of its own: equal ones are processed one by one.
            every = np.repeat(np.arange(len(batch)), batch.weight)
            batch, slot = replace(batch.take(every), weight=None), slot[every]
        order, steps = _by_slot(slot)
        undo = None
        if undoable:
            undo = _RunningUndo(steps.slots, [one.save(steps.slots) for one in self._states])
        weights = batch.weight if order is None or batch.weight is None else batch.weight[order]

        def order_values(parts: Sequence[Expression]) -> pa.Array:
            columns = [batch.columns[self._column_of[part]] for part in parts]
            values = columns[0] if len(columns) == 1 else struct_of(columns)
            return values if order is None else values.take(pa.array(order))

        self._touch(batch.time, order, steps)
        found: dict[int, Values] = {}
        for index, call in enumerate(self._combine.calls):
            if call.is_running:
                arguments = call.aggregate.arguments
                one = self._accumulators[index]
                values = order_values(arguments) if arguments else None
                found[index] = _running(one, call.frame_end, values, weights, steps)
        for indexes, time, frames in self._framed:
            given = [order_values(each) for each in frames.arguments]
            times = None if time is None else integers(order_values([time]))[0]
            found |= zip(indexes, frames.add(given, times, steps), strict=True)
        columns: list[pa.Array] = []
        failed = None
        for index in range(len(found)):
            seen = found[index] if order is None else _put_back(found[index], order)
            columns.append(seen.array)
            if seen.failed is not None:
                failed = seen.failed if failed is None else failed | seen.failed
        own = batch.columns[self._keys : len(batch.columns) - self._arguments]
        rows = batch.with_columns([*own, *columns])
        if failed is None or not failed.any():
            return ApplyResult(KeyedRows(rows, slot), None, undo)
        bad, kept = np.flatnonzero(failed), np.flatnonzero(~failed)
        codes = pa.array(np.full(len(bad), SUM_OVERFLOW, np.int16))
        errors = Batch([codes], batch.time[bad], batch.origin[bad], ())
        return ApplyResult(
            KeyedRows(rows.take(kept), slot[kept]), KeyedRows(errors, slot[bad]), undo
        )

    def _touch(self, times: Ints, order: Ints | None, steps: Steps) -> None:
        if self._idle is not None:
            self._idle.touch(times if order is None else times[order], steps)

    @property
    def table(self) -> SlotTable:
        return self._table

    @property
    def snapshots(self) -> SlotSnapshots:
        return self._snapshots

    def restore(self, undo: _RunningUndo, affected: Bools) -> None:
        kept = np.flatnonzero(affected[undo.slots])
        for one, saved in zip(self._states, undo.saved, strict=True):
            one.restore(undo.slots, saved, kept)

    def settle(self, undo: _RunningUndo | None) -> None:
        """See `Kernel`."""

    def expire(self, horizon: Root) -> None:
        """Free the slots of partitions that have ended; see `Kernel`."""
        if self._idle is None:
            return
        slots = self._table.live_of(self._idle.take_ended(horizon))
        if len(slots):
            for one in self._states:
                one.clear(slots)
            self._table.free(slots)

    def close(self, min_time: Root) -> ApplyResult[_RunningUndo] | None:
        """Return None: there are no windows."""
        del min_time
        return None

    def give_up(self, bins: BinRanges) -> None:
        """See `Kernel`."""

    def slots_in(self, bins: BinRanges, slots: Ints) -> Ints:
        return self._table.in_bins(bins, self._key_types, slots)

    def release(self, slots: Ints, marks: Bools) -> None:
        del marks
        for one in self._states:
            one.clear(slots)
        self._table.free(slots)

    @property
    def releases_in_parts(self) -> bool:
        return True

    def next_close(self) -> Root | None:
        return None

    def state_rows(self) -> int:
        return self._table.live


def _by_frame(calls: Sequence[OverCall]) -> list[_Framed]:
    found: dict[tuple[int | None, Expression | None, int, int], list[int]] = {}
    for index, call in enumerate(calls):
        if not call.is_running:
            frame = (call.preceding, call.time, call.end_preceding, call.delay)
            found.setdefault(frame, []).append(index)
    return [
        _Framed(
            indexes,
            time,
            Frames(
                [calls[one].aggregate for one in indexes],
                preceding,
                end_preceding,
                behind,
                by_time=time is not None,
            ),
        )
        for (preceding, time, end_preceding, behind), indexes in found.items()
    ]


def _by_slot(slot: Ints) -> tuple[Ints | None, Steps]:
    """Return the order that sorts rows by slot, and the steps: one for each row.

    The order is None if no slot occurs twice.
    """
    if len(slot) == 1:
        return None, only_step(slot)
    rows = np.arange(len(slot))
    if len(slot) <= FEW_ROWS_IN_C and len(set(slot.tolist())) == len(slot):
        return None, Steps(rows, len(slot), slot, rows)
    order = stable_order(slot)
    in_order = slot[order]
    if (in_order[1:] != in_order[:-1]).all():
        return None, Steps(rows, len(slot), slot, rows)
    return order, steps_of(in_order, rows)


def _put_back(seen: Values, order: Ints) -> Values:
    """Return the values of rows in `order`, rearranged to the original order."""
    index = np.empty(len(order), np.int64)
    index[order] = np.arange(len(order))
    failed = None if seen.failed is None else seen.failed[index]
    return Values(seen.array.take(pa.array(index)), failed)


def _running(
    one: Accumulator, end: FrameEnd, values: pa.Array | None, weights: Ints | None, steps: Steps
) -> Values:
    """Return the aggregate of each row's frame."""
    if end is FrameEnd.CURRENT_ROW:
        return one.add(values, weights, steps)
    before = one.read(steps.slots)
    after = one.add(values, weights, steps)
    if steps.one_a_slot:
        return before
    size = len(steps.slot)
    index = np.arange(-1, size - 1)
    index[steps.first] = size + np.arange(len(steps.first))
    return take_values(after, before, index)
