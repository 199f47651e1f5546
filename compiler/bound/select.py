"""A SELECT: its clauses with names resolved and types known, in the order in which SQL evaluates them.

Expressions are over the columns of `rows`, the result of FROM and WHERE.  Where they have the value of an
aggregate, of a call with OVER or of a subquery, they have a placeholder (`pending`) that refers to it by its
number.  The planner takes one clause after the other: it adds operators to `rows`, and rewrites the clauses
that remain over the columns of these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.compiler.bound.over import BoundOver
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span

    Spans = Mapping[Expression, Span]


@dataclass(frozen=True, slots=True)
class Emission:
    """`EMIT FINAL`, or `EMIT CHANGES`, and its span."""

    final: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Key:
    """A key of GROUP BY: its expression, its name, and its span."""

    expression: Expression
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """The keys of GROUP BY, each once, and the keys of each grouping set."""

    keys: tuple[Key, ...]
    sets: tuple[frozenset[Expression], ...]

    @classmethod
    def of(cls, sets: Sequence[tuple[Key, ...]]) -> GroupKeys:
        """Return the keys of the sets, in the order in which they are written."""
        keys = {key.expression: key for keys in reversed(sets) for key in reversed(keys)}
        order = dict.fromkeys(key.expression for one in sets for key in one)
        held = tuple(frozenset(key.expression for key in one) for one in sets)
        return cls(tuple(keys[each] for each in order), held)

    @property
    def common(self) -> frozenset[Expression]:
        """Return the keys of every set."""
        return frozenset.intersection(*self.sets)


@dataclass(frozen=True, slots=True)
class BoundGroups:
    """The keys and the aggregates of a SELECT, which placeholders refer to by their numbers.

    `span` is that of all elements of GROUP BY, or of the first item of SELECT.
    """

    keys: GroupKeys
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]
    span: Span

    def rewrite(self, over: Callable[[Expression], Expression], spans: SourceSpans) -> BoundGroups:
        """Return the groups with the arguments of the aggregates rewritten."""
        aggregates = []
        for call in self.aggregates:
            argument = None if call.argument is None else over(call.argument)
            aggregates.append(
                replace(call, argument=argument, others=tuple(map(over, call.others)))
            )
            spans.copy(call, aggregates[-1])
        return replace(self, aggregates=tuple(aggregates))


@dataclass(frozen=True, slots=True)
class BoundSubquery:
    """The rows of a subquery, and the keys of each side by which they are found.

    `outer_keys` are expressions of the query around it, `keys` the first columns of `rows`.
    """

    rows: Plan
    outer_keys: tuple[Expression, ...]
    keys: tuple[Expression, ...]
    span: Span

    def rewrite(self, over: Callable[[Expression], Expression]) -> BoundSubquery:
        """Return the subquery with its keys of the query around it rewritten."""
        return replace(self, outer_keys=tuple(map(over, self.outer_keys)))


@dataclass(frozen=True, slots=True)
class BoundClause:
    """The expressions of a clause, the subqueries in them, and where their parts are written."""

    expressions: tuple[Expression, ...]
    spans: Spans


@dataclass(frozen=True, slots=True)
class BoundSelect:
    """A SELECT over the rows of FROM and WHERE.

    `groups` is None without groups.  Of the subqueries, those in arguments of aggregates, in HAVING and in
    calls with OVER have numbers of their own, those in items and in QUALIFY share theirs.  `can_emit` says
    whether it is known that the rows can be released as `emit` says, `grouped` whether there were groups.
    """

    span: Span
    rows: Plan
    groups: BoundGroups | None
    having: BoundClause
    over: BoundOver | None
    qualify: BoundClause
    items: BoundClause
    names: tuple[str, ...]
    distinct: bool
    emit: Emission | None
    argument_subqueries: tuple[BoundSubquery, ...] = ()
    having_subqueries: tuple[BoundSubquery, ...] = ()
    over_subqueries: tuple[BoundSubquery, ...] = ()
    item_subqueries: tuple[BoundSubquery, ...] = ()
    can_emit: bool = False
    grouped: bool = False

    def expressions(self) -> Iterator[Expression]:
        """Yield all expressions that are computed from groups."""
        for clause in (self.items, self.having, self.qualify):
            yield from clause.expressions
        if self.over is not None:
            yield from self.over.expressions()
        for subquery in (
            *self.item_subqueries,
            *self.over_subqueries,
            *self.having_subqueries,
        ):
            yield from subquery.outer_keys
