"""MATCH_RECOGNIZE: the matches that are decided by each row, by slot.

The matching of a slot is immutable, so an application is undone by restoring the earlier matching.  A
snapshot has the rows of partial matches, from which the matching is created again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.row_matching import NO_ROWS, Matcher
from fsql.compiler.sqltypes import array_of
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.steps import Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import AggregateCall, Value
    from fsql.compiler.row_matching import Matching
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps


class Matches:
    """The matching of each slot, over rows in the order of event time."""

    def __init__(self, call: AggregateCall) -> None:
        assert call.pattern is not None
        assert call.argument is not None
        self._matcher = Matcher(call.pattern)
        self._type = call.type
        self._row_type = call.argument.type
        self._matchings: list[Matching] = []

    def grow(self, slots: int) -> None:
        self._matchings.extend([NO_ROWS] * (slots - len(self._matchings)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._matchings[slot] = NO_ROWS

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        assert weights is None or (weights == 1).all(), "rows in order are never merged"
        matcher, matchings = self._matcher, self._matchings
        after: list[Value] = [None] * steps.rows
        failed: list[int] = []
        slots = steps.slot.tolist()
        for index, row in enumerate(from_arrow(decode_dictionary(values), self._row_type)):
            assert isinstance(row, tuple)
            slot = slots[index]
            matching, decided = matcher.advance(matchings[slot], row)
            matchings[slot] = matching
            if decided:
                try:
                    after[index] = tuple(matcher.measures(matching, decided))
                except RowFailure:
                    failed.append(index)
        mask = None
        if failed:
            mask = np.zeros(steps.rows, np.bool_)
            mask[failed] = True
        return Values(to_arrow(after, self._type), mask)

    def read(self, slots: Ints) -> Values:
        return Values(pa.nulls(len(slots), to_arrow([], self._type).type))

    def save(self, slots: Ints) -> list[Matching]:
        return [self._matchings[slot] for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[Matching], kept: Ints) -> None:
        for i in kept.tolist():
            self._matchings[slots[i]] = saved[i]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        """Return the rows of partial matches, the number of rows before them, and the number of matches."""
        held: list[Value] = []
        before: list[int] = []
        found: list[int] = []
        for slot in slots.tolist():
            matching = self._matchings[slot]
            count, rows = self._matcher.held_rows(matching)
            held.append(tuple(rows) if rows or matching.found else None)
            before.append(count)
            found.append(matching.found)
        return {
            "rows": to_arrow(held, array_of(self._row_type)),
            "before": pa.array(before, pa.int64()),
            "found": pa.array(found, pa.int64()),
        }

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        held = from_arrow(columns["rows"], array_of(self._row_type))
        before, found = columns["before"].to_pylist(), columns["found"].to_pylist()
        for slot, *state in zip(slots.tolist(), before, held, found, strict=True):
            count, rows, number = state
            self._matchings[slot] = self._matcher.matching_of(count or 0, rows or (), number or 0)
