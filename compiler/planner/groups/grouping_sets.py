"""GROUPING SETS, ROLLUP and CUBE: each row is repeated for each set, with NULL for the keys of other sets.

    GROUP BY w, ROLLUP (a)    →    UNNEST([0, 1]) AS s, GROUP BY w, CASE WHEN s = 0 THEN a END, s

The number of the set is a key, so that a NULL for a key of another set is not a value of that key.
Keys of every set remain as they are: a window among them closes the groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.bound.groups import GroupKeys, Key
from fsql.compiler.bound.pending import GroupingValue, replace_pending
from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.expression import Case, ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.logical import Plan, Unnest
from fsql.compiler.planner.groups.group import complete_windows
from fsql.compiler.sqltypes import BIGINT, INT, array_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fsql.compiler.planner.groups.grouping import AggregateSpec, Groups
    from fsql.compiler.text.source import Span


def complete_keys(keys: GroupKeys, plan: Plan, used: Iterable[Expression]) -> GroupKeys:
    """Return the keys with the bounds of windows that the keys of every set imply."""
    common = [key for key in keys.keys if key.expression in keys.common]
    completed = complete_windows(plan, common, used)
    known = {key.expression for key in keys.keys}
    added = [key for key in completed if key.expression not in known]
    with_added = frozenset(key.expression for key in added)
    return GroupKeys((*keys.keys, *added), tuple(one | with_added for one in keys.sets))


def expand_sets(keys: GroupKeys, plan: Plan, span: Span) -> tuple[Plan, list[Key]]:
    """Return the rows for all sets, and the keys to group them by; the last is the set's number."""
    if len(keys.sets) == 1:
        return plan, list(keys.keys)
    numbers = tuple(range(len(keys.sets)))
    array = Literal(array_of(INT), nullable=False, value=numbers)
    expanded = Unnest(plan, array, "grouping_set", None)
    number = ColumnRef(INT, nullable=True, index=len(plan.schema))
    by_set = [
        key
        if key.expression in keys.common
        else replace(key, expression=_where_held(keys, key.expression, number))
        for key in keys.keys
    ]
    return expanded, [*by_set, Key(number, "grouping_set", span)]


def _where_held(keys: GroupKeys, key: Expression, number: Expression) -> Expression:
    held = [index for index, one in enumerate(keys.sets) if key in one]
    nothing = Literal(key.type, nullable=True, value=None)
    branch = _is_among(number, held), key
    return Case(key.type, nullable=True, branches=(branch,), otherwise=nothing)


def over_groups(
    keys: GroupKeys, groups: Groups, grouping: AggregateSpec
) -> Callable[[Expression, Mapping[Expression, Span]], Expression]:
    """Return the function that rewrites expressions over the rows of the aggregate."""
    indexes = {key.expression: index for index, key in enumerate(keys.keys)}
    several = len(keys.sets) > 1
    number = ColumnRef(INT, nullable=True, index=len(groups.names))
    if several:
        indexes[number] = len(keys.keys)
    groups = replace(groups, keys=indexes)
    nullable = [key.nullable for key in grouping.keys]
    nullable += [aggregate.nullable for aggregate in grouping.aggregates]

    def carry(expression: Expression, spans: Mapping[Expression, Span]) -> Expression:
        found = groups.carry(_without_calls(keys, expression, groups, number, spans), spans)
        if not several:
            return found
        over = with_nullability(found, nullable.__getitem__)
        groups.source_spans.copy(found, over)
        return over

    return carry


def _without_calls(
    keys: GroupKeys,
    expression: Expression,
    groups: Groups,
    number: Expression,
    spans: Mapping[Expression, Span],
) -> Expression:
    """Return the expression with each GROUPING as a CASE of the set's number."""

    def replacement(part: Expression) -> Expression | None:
        if not isinstance(part, GroupingValue):
            return None
        for argument in part.arguments:
            if argument not in groups.keys:
                raise refusal("E302", "GROUPING takes keys of GROUP BY", spans[part])
        masks: dict[int, list[int]] = {}
        for index, one in enumerate(keys.sets):
            bits = "".join("0" if each in one else "1" for each in part.arguments)
            masks.setdefault(int(bits, 2), []).append(index)
        *others, last = sorted(masks)
        if not others:
            return _number(last)
        branches = tuple((_is_among(number, masks[mask]), _number(mask)) for mask in others)
        return Case(BIGINT, nullable=False, branches=branches, otherwise=_number(last))

    return replace_pending(expression, replacement, groups.source_spans)


def _number(value: int) -> Expression:
    return Literal(BIGINT, nullable=False, value=value)


def _is_among(number: Expression, indexes: Sequence[int]) -> Expression:
    """Return whether the set's number is one of the given numbers."""
    tests = [call("eq", number, Literal(INT, nullable=False, value=index)) for index in indexes]
    return combine_balanced("or", tests)
