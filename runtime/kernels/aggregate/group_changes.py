"""The values of groups before and after each step, and the changes of the rows of the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.order import concat_arrays, identity_codes

if TYPE_CHECKING:
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.kernels.aggregate.steps import Steps, Values


class GroupValues(NamedTuple):
    """The values of groups; which groups have a row, and which groups exist but fail."""

    values: list[Values]
    shown: Bools
    fails: Bools


class Group(NamedTuple):
    """The values of one group; whether it has a row, or exists but fails."""

    columns: list[pa.Array]
    shows: bool
    fails: bool

    @staticmethod
    def of(values: list[Values], shown: list[int]) -> Group:
        exists = values[0].array[0].as_py() > 0
        results = [values[index] for index in shown]
        fails = any(value.failed is not None and value.failed[0] for value in results)
        columns = [value.array for value in results]
        return Group(columns, exists and not fails, exists and fails)


def same_value(one: pa.Array, other: pa.Array) -> bool:
    """Return whether two columns of one row have the same value (-0.0 is not 0.0)."""
    if pa.types.is_integer(one.type):
        return bool(one.equals(other))
    first, second = identity_codes(concat_arrays([one, other])).tolist()
    return bool(first == second)


class GroupChanges(NamedTuple):
    """Which steps retract their group's previous row, and which add a new one; both if they differ.

    `shown_before` and `shown_after` mark the steps before and after which the group has a row.
    `columns` have the values after all steps, then the values before the first step of each slot.
    """

    removed: Ints
    added: Ints
    failing: Ints
    shown_before: Bools
    shown_after: Bools
    columns: list[pa.Array]


def changes_of(steps: Steps, before: GroupValues, after: GroupValues) -> GroupChanges:
    """Return how the rows of groups change, from their values before the steps and after each."""
    size = len(steps.slot)
    columns = [
        concat_arrays([a.array, b.array]) for a, b in zip(after.values, before.values, strict=True)
    ]
    failing = after.fails & ~steps.before(after.fails, before.fails)
    shown_after, shown_before = after.shown, steps.before(after.shown, before.shown)
    differs = np.zeros(size, np.bool_)
    for column in columns:
        codes = (
            identity_codes(column)
            if not pa.types.is_integer(column.type) or column.null_count
            else None
        )
        if codes is None:
            codes = column.to_numpy(zero_copy_only=False)
        differs |= codes[:size] != steps.before(codes[:size], codes[size:])
    return GroupChanges(
        np.flatnonzero(shown_before & (differs | ~shown_after)),
        np.flatnonzero(shown_after & (differs | ~shown_before)),
        np.flatnonzero(failing),
        shown_before,
        shown_after,
        columns,
    )
