"""ARRAY_AGG in the total order of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.steps import (
    Values,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import AggregateCall
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps


class Arrays:
    """ARRAY_AGG over append-only input: a list for each slot, to which values are only appended."""

    def __init__(self, call: AggregateCall) -> None:
        self._type = arrow_type(call.type)
        self._ignores_nulls = call.ignore_nulls
        number = 0 if call.parameter is None else int(call.parameter)
        self._read = slice(None, number) if number > 0 else slice(number or None, None)
        self._lists: list[list[object]] = []

    def grow(self, slots: int) -> None:
        self._lists.extend([] for _ in range(slots - len(self._lists)))

    def clear(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._lists[slot] = []

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        elements = decode_dictionary(values).to_pylist()
        repeats = [1] * len(elements) if weights is None else weights.tolist()
        assert min(repeats, default=0) >= 0
        ends = [*steps.start[1:].tolist(), steps.rows]
        after = []
        for slot, start, end in zip(steps.slot.tolist(), steps.start.tolist(), ends, strict=True):
            collected = self._lists[slot]
            for i in range(start, end):
                if self._ignores_nulls and elements[i] is None:
                    continue
                collected.extend([elements[i]] * repeats[i])
            after.append(collected[self._read] or None)
        return Values(pa.array(after, self._type))

    def result_sizes(self, slots: Ints) -> Ints:
        """Return how many values the result of each slot has."""
        return np.array([len(self._lists[slot][self._read]) for slot in slots.tolist()], np.int64)

    def read(self, slots: Ints) -> Values:
        results = [self._lists[slot][self._read] or None for slot in slots.tolist()]
        return Values(pa.array(results, self._type))

    def save(self, slots: Ints) -> list[int]:
        return [len(self._lists[slot]) for slot in slots.tolist()]

    def restore(self, slots: Ints, saved: list[int], kept: Ints) -> None:
        for i in kept.tolist():
            del self._lists[slots[i]][saved[i] :]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        lists = [self._lists[slot] or None for slot in slots.tolist()]
        return {"elements": pa.array(lists, self._type)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        for slot, elements in zip(slots.tolist(), columns["elements"].to_pylist(), strict=True):
            self._lists[slot] = elements or []
