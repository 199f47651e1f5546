"""GROUPING SETS, ROLLUP and CUBE: each row is repeated for each set, with NULL for the keys of other sets.

    GROUP BY w, ROLLUP (a)    →    UNNEST([0, 1]) AS s, GROUP BY w, CASE WHEN s = 0 THEN a END, s

The number of the set is a key, so that a NULL for a key of another set is not a value of that key.
Keys of every set remain as they are: a window among them closes the groups.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.binder.aggregates.group import complete_windows
from fsql.compiler.binder.expressions.operators import call, combine_balanced
from fsql.compiler.binder.items import Key
from fsql.compiler.binder.pending import GroupingValue, replace_pending
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import Case, ColumnRef, Expression, Literal
from fsql.compiler.logical import Plan, Unnest
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT, INT, array_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fsql.compiler.binder.aggregates.aggregate import Groups
    from fsql.compiler.binder.items import AggregateSpec
    from fsql.compiler.text.source import Span

    Elements = tuple[syntax.Expression | syntax.GroupingSets, ...]
    WrittenSet = tuple[syntax.Expression, ...]
    KeySet = tuple[Key, ...]

SETS_MAX: Final = 64


def bind_sets(
    elements: Elements, bind: Callable[[syntax.Expression], KeySet]
) -> tuple[KeySet, ...]:
    """Return the grouping sets of a GROUP BY: one, if it uses none of the forms.

    `bind` returns the keys of an expression; it is called once for each expression in the text.

    Raises:
        Refusal: E301.
    """
    bound: dict[Span, KeySet] = {}

    def keys_of(written: syntax.Expression) -> KeySet:
        if written.span not in bound:
            bound[written.span] = bind(written)
        return bound[written.span]

    parts = [_sets(element) for element in elements]
    count = math.prod(len(part) for part in parts)
    if count > SETS_MAX:
        first = next(each for each in elements if isinstance(each, syntax.GroupingSets))
        raise _too_many(count, first.span)
    combined = (sum(chosen, ()) for chosen in product(*parts))
    return tuple(tuple(key for each in one for key in keys_of(each)) for one in combined)


def _sets(element: syntax.Expression | syntax.GroupingSets) -> list[WrittenSet]:
    """Return the sets of an element of GROUP BY, as written."""
    if not isinstance(element, syntax.GroupingSets):
        return [(element,)]
    if element.kind == "GROUPING SETS":
        return [
            one
            for part in element.sets
            for one in (_sets(part) if isinstance(part, syntax.GroupingSets) else [part])
        ]
    parts: list[WrittenSet] = []
    for part in element.sets:
        if isinstance(part, syntax.GroupingSets):
            raise not_implemented(f"{part.kind} in {element.kind}", part.span)
        parts.append(part)
    if element.kind == "ROLLUP":
        return [sum(parts[:end], ()) for end in range(len(parts), -1, -1)]
    if 2 ** len(parts) > SETS_MAX:
        raise _too_many(2 ** len(parts), element.span)
    return [
        sum(chosen, ())
        for size in range(len(parts), -1, -1)
        for chosen in combinations(parts, size)
    ]


def _too_many(count: int, span: Span) -> Exception:
    return not_implemented(
        f"{count:,} grouping sets; the limit is {SETS_MAX}", span, help="write the sets needed"
    )


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """The keys of GROUP BY, each once, and the keys of each grouping set."""

    keys: tuple[Key, ...]
    sets: tuple[frozenset[Expression], ...]

    @classmethod
    def of(cls, sets: Sequence[KeySet]) -> GroupKeys:
        """Return the keys of the sets, in the order in which they are written."""
        keys = {key.expression: key for keys in reversed(sets) for key in reversed(keys)}
        order = dict.fromkeys(key.expression for one in sets for key in one)
        held = tuple(frozenset(key.expression for key in one) for one in sets)
        return cls(tuple(keys[each] for each in order), held)

    @property
    def _common(self) -> frozenset[Expression]:
        return frozenset.intersection(*self.sets)

    def complete(self, plan: Plan, used: Iterable[Expression]) -> GroupKeys:
        """Return the keys with the bounds of windows that the keys of every set imply."""
        common = [key for key in self.keys if key.expression in self._common]
        completed = complete_windows(plan, common, used)
        known = {key.expression for key in self.keys}
        added = [key for key in completed if key.expression not in known]
        with_added = frozenset(key.expression for key in added)
        return GroupKeys((*self.keys, *added), tuple(one | with_added for one in self.sets))

    def expand(self, plan: Plan, span: Span) -> tuple[Plan, list[Key]]:
        """Return the rows for all sets, and the keys to group them by; the last is the set's number."""
        if len(self.sets) == 1:
            return plan, list(self.keys)
        numbers = tuple(range(len(self.sets)))
        array = Literal(array_of(INT), nullable=False, value=numbers)
        expanded = Unnest(plan, array, "grouping_set", None)
        number = ColumnRef(INT, nullable=True, index=len(plan.schema))
        keys = [
            key
            if key.expression in self._common
            else replace(key, expression=self._where_held(key.expression, number))
            for key in self.keys
        ]
        return expanded, [*keys, Key(number, "grouping_set", span)]

    def _where_held(self, key: Expression, number: Expression) -> Expression:
        held = [index for index, one in enumerate(self.sets) if key in one]
        nothing = Literal(key.type, nullable=True, value=None)
        branch = _is_among(number, held), key
        return Case(key.type, nullable=True, branches=(branch,), otherwise=nothing)

    def carry(
        self, groups: Groups, grouping: AggregateSpec
    ) -> Callable[[Expression, Mapping[Expression, Span]], Expression]:
        """Return the function that rewrites expressions over the rows of the aggregate."""
        indexes = {key.expression: index for index, key in enumerate(self.keys)}
        several = len(self.sets) > 1
        number = ColumnRef(INT, nullable=True, index=len(groups.names))
        if several:
            indexes[number] = len(self.keys)
        groups = replace(groups, keys=indexes)
        nullable = [key.nullable for key in grouping.keys]
        nullable += [aggregate.nullable for aggregate in grouping.aggregates]

        def carry(expression: Expression, spans: Mapping[Expression, Span]) -> Expression:
            found = groups.carry(self._without_calls(expression, groups, number, spans), spans)
            if not several:
                return found
            over = with_nullability(found, nullable.__getitem__)
            groups.source_spans.copy(found, over)
            return over

        return carry

    def _without_calls(
        self,
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
            for index, one in enumerate(self.sets):
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
