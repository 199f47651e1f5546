"""A SELECT: its clauses with names resolved and types known, in the order in which SQL evaluates them.

Expressions are over the columns of `rows`, the result of FROM and WHERE.  Where they have the value of an
aggregate, of a call with OVER or of a subquery, they have a placeholder (`pending`) that refers to it by its
number.  The planner takes one clause after the other: it adds operators to `rows`, and rewrites the clauses
that remain over the columns of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.bound.emission import Emission
    from fsql.compiler.bound.groups import BoundGroups
    from fsql.compiler.bound.over import BoundOver
    from fsql.compiler.bound.subqueries import BoundSubquery
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span

    Spans = Mapping[Expression, Span]


@dataclass(frozen=True, slots=True)
class BoundClause:
    """The expressions of a clause, the subqueries in them, and where their parts are written."""

    expressions: tuple[Expression, ...]
    spans: Spans


@dataclass(frozen=True, slots=True)
class BoundSelect:
    """A SELECT over the rows of FROM and WHERE.

    `groups` is None without groups.  Of the subqueries, those in arguments of aggregates, in HAVING and in
    calls with OVER have numbers of their own, those in items and in QUALIFY share theirs.  `closes` says
    whether the rows are known to be final as they are released, and `grouped` whether groups are planned.
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
    closes: bool = False
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
