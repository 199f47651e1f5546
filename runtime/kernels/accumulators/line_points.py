"""M4: the points of a line that decide the pixels of its chart.

A chart over `[start, end)` has a column for each pixel of its width; a point at time t is in column
`floor(width * (t - start) / (end - start))`.  Of each column four points are kept: the first and the last, by
time and then by the total order, and the earliest ones of the least and of the greatest value.

Contract: the line through the kept points in the order of their times colours the same pixels as the line
through all points, if both are mapped to pixels by the same monotone functions, and pixels are not blended.
For a line between two columns joins the last point of one with the first of the next, and within a column
every pixel between the least and the greatest value is crossed.

The four points are a **partial**, which combines with that of later rows of the same column.  Rows are added
in the total order, so the partial does not need their positions: of two points with the same time, the one
of the later partial comes later.

    rows of a step ─▶ one partial for each column ─▶ combined into the cell (slot, column)

Without a chart there is one column, which has all points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.accumulators.extremes import column_of_keys
from fsql.runtime.kernels.keyed.steps import Values
from fsql.runtime.order import concat_arrays, doubles_of_sortable, integers, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fsql.compiler.expression import AggregateCall
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.keyed.steps import Steps

    Coordinates = NDArray[np.int64] | NDArray[np.float64]

_FIRST, _LAST, _LEAST, _GREATEST = range(4)
_POINTS: Final = 4


class ChosenPoints(NamedTuple):
    """For each run of points the indexes of the first, the last, the least and the greatest one."""

    first: Ints
    last: Ints
    least: Ints
    greatest: Ints


def points_of_runs(begins: Ints, times: Coordinates, values: Coordinates) -> ChosenPoints:
    """Return the points of M4 of each run; within a run, points with the same time are in their order.

    `begins` are the indexes at which runs begin, the first one 0; `values` order as the values do.
    """
    size = len(times)
    run = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, size)))
    descends = times[1:] < times[:-1]
    descends[begins[1:] - 1] = False
    if not descends.any():
        least, greatest = _extremes(begins, run, values)
        return ChosenPoints(begins, np.append(begins[1:], size) - 1, least, greatest)
    order = np.lexsort((times, run))
    found = points_of_runs(begins, times[order], values[order])
    return ChosenPoints(*(order[index] for index in found))


def _extremes(begins: Ints, run: Ints, values: Coordinates) -> tuple[Ints, Ints]:
    """Return for each run the index of the first of its least values, and of its greatest ones."""
    found = []
    for extreme in (np.minimum, np.maximum):
        at = np.flatnonzero(values == extreme.reduceat(values, begins)[run])
        found.append(at[starts_of_runs(run[at])])
    return found[0], found[1]


class _Partials(NamedTuple):
    """The points of columns: times and values, as integers of their order, of each kind; which have any."""

    times: Ints
    values: Ints
    some: Bools

    @staticmethod
    def none(size: int) -> _Partials:
        shape = (_POINTS, size)
        return _Partials(
            np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(size, np.bool_)
        )

    def take(self, index: Ints) -> _Partials:
        return _Partials(self.times[:, index], self.values[:, index], self.some[index])

    def put(self, index: Ints, partials: _Partials) -> None:
        self.times[:, index] = partials.times
        self.values[:, index] = partials.values
        self.some[index] = partials.some


def _combine(earlier: _Partials, later: _Partials) -> _Partials:
    """Return the partials of the rows of both; those of `later` come after the others in the total order."""
    is_later = np.empty((_POINTS, len(earlier.some)), np.bool_)
    times, values = (earlier.times, later.times), (earlier.values, later.values)
    is_later[_FIRST] = times[1][_FIRST] < times[0][_FIRST]
    is_later[_LAST] = times[1][_LAST] >= times[0][_LAST]
    sooner = times[1] < times[0]
    is_later[_LEAST] = (values[1][_LEAST] < values[0][_LEAST]) | (
        (values[1][_LEAST] == values[0][_LEAST]) & sooner[_LEAST]
    )
    is_later[_GREATEST] = (values[1][_GREATEST] > values[0][_GREATEST]) | (
        (values[1][_GREATEST] == values[0][_GREATEST]) & sooner[_GREATEST]
    )
    is_later = (is_later & later.some) | ~earlier.some
    return _Partials(
        np.where(is_later, times[1], times[0]),
        np.where(is_later, values[1], values[0]),
        earlier.some | later.some,
    )


class LinePoints:
    """M4 of append-only input: four points for each column of each slot."""

    def __init__(self, call: AggregateCall, *, shown: bool) -> None:
        assert call.argument is not None
        self._call = call
        self._shown = shown
        self._types = (call.others[0].type, call.argument.type)
        self._width, self._height, self._bounds = 1, 0, None
        if call.chart is not None:
            start, end, self._width, self._height = call.chart
            # The least integer of each column, and the end of the chart.
            steps = range(self._width + 1)
            bounds = [start - (start - end) * step // self._width for step in steps]
            self._bounds = np.array(bounds, np.int64)
        self._cells = _Partials.none(0)

    def grow(self, slots: int) -> None:
        cells = slots * self._width
        if cells > len(self._cells.some):
            room = _Partials.none(max(cells, 2 * len(self._cells.some)))
            room.put(np.arange(len(self._cells.some)), self._cells)
            self._cells = room

    def clear(self, slots: Ints) -> None:
        self._cells.some[self._of_slots(slots)] = False

    def _of_slots(self, slots: Ints) -> Ints:
        """Return the cells of slots, those of a slot adjacent."""
        if self._width == 1:
            return slots
        return (slots[:, None] * self._width + np.arange(self._width)).ravel()

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        partials, step, column = self._partials(values, steps)
        if steps.one_a_slot:
            self._add_to_cells(partials, steps.slot[step] * self._width + column)
            if not self._shown:
                return Values(pa.nulls(len(steps.slot), arrow_type(self._call.type)))
            return self.read(steps.slot)
        if self._width == 1:
            return Values(self._value(self._running(partials, step, steps)))
        return self._one_by_one(partials, step, column, steps)

    def _partials(self, points: pa.StructArray, steps: Steps) -> tuple[_Partials, Ints, Ints]:
        """Return a partial for each step and column with points, its step and its column."""
        value, time = (decode_dictionary(points.field(index)) for index in range(2))
        kept = np.ones(steps.rows, np.bool_)
        keys = []
        for coordinate in (time, value):
            key, valid = integers(coordinate)
            keys.append(key)
            if valid is not None:
                kept &= valid
            if pa.types.is_floating(coordinate.type):
                kept &= np.isfinite(doubles_of_sortable(key))
        step = np.repeat(np.arange(len(steps.slot)), steps.sizes)
        run = step
        if self._bounds is not None:
            kept &= (keys[0] >= self._bounds[0]) & (keys[0] < self._bounds[-1])
            column = np.searchsorted(self._bounds, keys[0], "right") - 1
            run = step * self._width + column
        if not kept.all():
            run, keys = run[kept], [key[kept] for key in keys]
        if len(run) == 0:
            return _Partials.none(0), run, run
        if self._bounds is not None and (run[1:] < run[:-1]).any():
            order = np.argsort(run, kind="stable")
            run, keys = run[order], [key[order] for key in keys]
        begins = starts_of_runs(run)
        times, values = keys
        chosen = np.array(points_of_runs(begins, times, values))
        run = run[begins]
        partials = _Partials(times[chosen], values[chosen], np.ones(len(run), np.bool_))
        return partials, run // self._width, run % self._width

    def _add_to_cells(self, partials: _Partials, cells: Ints) -> None:
        """Combine partials into cells, each once."""
        self._cells.put(cells, _combine(self._cells.take(cells), partials))

    def _running(self, partials: _Partials, step: Ints, steps: Steps) -> _Partials:
        """Return the points after each step, and set those of the slots; there is one column.

        Partials are combined over 1, 2, 4, … steps of a slot: the logarithm of the steps, not one by one.
        """
        after = _Partials.none(len(steps.slot))
        after.put(step, partials)
        first = steps.first
        after.put(first, _combine(self._cells.take(steps.slots), after.take(first)))
        number = np.arange(len(steps.slot)) - steps.of_slots(first)
        distance = 1
        while True:
            later = np.flatnonzero(number >= distance)
            if not len(later):
                break
            after.put(later, _combine(after.take(later - distance), after.take(later)))
            distance *= 2
        self._cells.put(steps.slots, after.take(steps.last))
        return after

    def _one_by_one(self, partials: _Partials, step: Ints, column: Ints, steps: Steps) -> Values:
        """Return the points after each step; those with the same number in their slots are added together."""
        number = np.arange(len(steps.slot)) - steps.of_slots(steps.first)
        arrays, places = [], []
        for rank in range(int(number.max()) + 1):
            these = np.flatnonzero(number[step] == rank)
            cells = steps.slot[step[these]] * self._width + column[these]
            self._add_to_cells(partials.take(these), cells)
            places.append(np.flatnonzero(number == rank))
            arrays.append(self.read(steps.slot[places[-1]]).array)
        order = np.argsort(np.concatenate(places), kind="stable")
        return Values(concat_arrays(arrays).take(pa.array(order)))

    def read(self, slots: Ints) -> Values:
        if self._bounds is None:
            return Values(self._value(self._cells.take(slots)))
        return Values(self._line(slots))

    def _value(self, points: _Partials) -> pa.Array:
        """Return the rows of the four points, NULL where there are none."""
        fields = []
        for kind in range(_POINTS):
            fields += [
                column_of_keys(keys[kind], points.some, arrow_type(of_type))
                for keys, of_type in zip(points[:2], self._types, strict=True)
            ]
        row = arrow_type(self._call.type)
        return pa.StructArray.from_arrays(fields, fields=list(row), mask=pa.array(~points.some))

    def _line(self, slots: Ints) -> pa.Array:
        """Return the points of each slot in the order of the line, each once."""
        cells = self._of_slots(slots)
        filled = np.flatnonzero(self._cells.some[cells])
        points = self._cells.take(cells[filled])
        order = np.array([_FIRST, _LEAST, _GREATEST, _LAST])[:, None] + np.zeros_like(filled)
        swapped = points.times[_GREATEST] < points.times[_LEAST]
        order[1:3, swapped] = order[2:0:-1, swapped]
        times, values = (np.take_along_axis(keys, order, 0) for keys in points[:2])
        repeated = np.zeros(order.shape, np.bool_)
        for place in range(1, _POINTS):
            for before in range(place):
                same = (times[place] == times[before]) & (values[place] == values[before])
                repeated[place] |= same
        # The points of a cell are adjacent: one row of four for each.
        kept = ~repeated.T
        times, values = times.T[kept], values.T[kept]
        numbers = np.repeat(filled, kept.sum(axis=1))
        counts = np.bincount(numbers // self._width, minlength=len(slots))
        if self._height:
            of_slot = np.repeat(np.arange(len(slots)), counts)
            fields = [
                pa.array((numbers % self._width).astype(np.int32)),
                pa.array(self._pixels(values, of_slot)),
            ]
        else:
            some = np.ones(len(times), np.bool_)
            fields = [
                column_of_keys(keys, some, arrow_type(of_type))
                for keys, of_type in zip((times, values), self._types, strict=True)
            ]
        array = arrow_type(self._call.type)
        rows = pa.StructArray.from_arrays(fields, fields=list(array.value_type))
        ends = np.append(0, np.cumsum(counts)).astype(np.int32)
        return pa.ListArray.from_arrays(
            pa.array(ends), rows, type=array, mask=pa.array(counts == 0)
        )

    def _pixels(self, values: Ints, of_slot: Ints) -> NDArray[np.int32]:
        """Return values as pixels, from the least value of a slot, 0, to the greatest one."""
        if not len(values):
            return np.zeros(0, np.int32)
        begins = starts_of_runs(of_slot)
        heights = _numbers(values, self._types[1])
        run = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(values))))
        # Halves, so that no difference of two values is infinite.
        halves = heights / 2
        low = np.minimum.reduceat(halves, begins)[run]
        span = np.maximum.reduceat(halves, begins)[run] - low
        shares = np.divide(halves - low, span, out=np.zeros_like(span), where=span > 0)
        pixels: NDArray[np.int32] = np.minimum(
            np.floor(shares * self._height), self._height - 1
        ).astype(np.int32)
        return pixels

    def result_sizes(self, slots: Ints) -> Ints:
        """See `accumulator.Collector`."""
        filled = self._cells.some[self._of_slots(slots)].reshape(len(slots), self._width)
        sizes: Ints = _POINTS * filled.sum(axis=1)
        return sizes

    def save(self, slots: Ints) -> _Partials:
        return self._cells.take(self._of_slots(slots))

    def restore(self, slots: Ints, saved: _Partials, kept: Ints) -> None:
        self._cells.put(self._of_slots(slots[kept]), saved.take(self._of_slots(kept)))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        cells = self._of_slots(slots)
        filled = np.flatnonzero(self._cells.some[cells])
        points = self._cells.take(cells[filled])
        names = [
            "column",
            *(f"{what}{kind}" for what in ("time", "value") for kind in range(_POINTS)),
        ]
        columns = [filled % self._width, *points.times, *points.values]
        rows = pa.StructArray.from_arrays([pa.array(column) for column in columns], names)
        counts = np.bincount(filled // self._width, minlength=len(slots))
        ends = np.append(0, np.cumsum(counts)).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(ends), rows, mask=pa.array(counts == 0))
        return {"points": lists}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        lists = columns["points"]
        counts = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        rows = lists.flatten()
        column, *keys = (rows.field(index).to_numpy() for index in range(1 + 2 * _POINTS))
        times, values = np.array(keys, np.int64).reshape(2, _POINTS, len(rows))
        cells = np.repeat(slots, counts) * self._width + column
        self._cells.put(cells, _Partials(times, values, np.ones(len(rows), np.bool_)))


def _numbers(keys: Ints, of_type: SqlType) -> NDArray[np.float64]:
    if of_type.kind is Kind.DOUBLE:
        doubles: NDArray[np.float64] = doubles_of_sortable(keys)
        return doubles
    return keys.astype(np.float64)
