"""Subqueries as values: LEFT joins with at most one row for each row of the outer query.

    (SELECT MAX(v) FROM b WHERE b.k = a.k)    →    a LEFT JOIN (SELECT k, MAX(v) FROM b GROUP BY k) ON …
    EXISTS (… WHERE b.k = a.k)                →    (SELECT COUNT(*) … WHERE b.k = a.k) > 0

`subquery_tests` has the values of IN, EXISTS, ANY and ALL.  `decorrelation` makes equalities of other
comparisons.  Expressions over aggregates are computed after the join, so that they also have a value if there
are no rows: then the aggregates are NULL, and counts, which are never NULL, are 0.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import covers_key, derived_keys
from fsql.compiler.binder.joins.join import shift_columns
from fsql.compiler.binder.joins.outer_join import zero_where
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.scope import quantity_text
from fsql.compiler.binder.subqueries.array_subquery import as_aggregate
from fsql.compiler.binder.subqueries.decorrelation import split_conditions
from fsql.compiler.binder.subqueries.membership import (
    Test,
    operator_name,
    pair_values,
    tested_query,
)
from fsql.compiler.binder.subqueries.one_row import resolve_outer
from fsql.compiler.binder.subqueries.subquery import is_one_row, unbounded_warning
from fsql.compiler.binder.subqueries.subquery_tests import test_value
from fsql.compiler.bound.pending import SubqueryValue, replace_pending
from fsql.compiler.bound.select import BoundSubquery
from fsql.compiler.expression import AggregateCall, ColumnRef, Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_case
from fsql.compiler.node import walk
from fsql.compiler.planner.grouping import AggregateSpec, Groups, make_group
from fsql.compiler.planner.rows import ZERO, make_distinct_names, project
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.subqueries.subquery import Subquery
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


@dataclass
class SubqueryCollector:
    """Collects the subqueries in the expressions of a clause.

    `bind_subquery` binds one, also over the columns of the outer query, whose rows are those of `outer`.
    """

    context: Context
    bind_subquery: Callable[[Context, syntax.Query, Relation], Subquery]
    outer: Relation
    values: list[BoundSubquery] = field(default_factory=list)

    def bind(self, written: syntax.ScalarSubquery) -> Expression:
        """Return the value of a subquery, with placeholders for its columns.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts of it were refused.
        """
        subquery = self.bind_subquery(self.context, written.query, self.outer)
        if len(subquery.items) != 1:
            raise refusal(
                "E209",
                f"subquery as a value has {quantity_text(len(subquery.items), 'column')}",
                written.span,
                help="SELECT one column",
            )
        outer_keys, keys = self._keys(subquery)
        self.context.report.warn(unbounded_warning(written.span))
        if subquery.is_aggregate:
            plan, (value,), having = self._aggregate(subquery, keys)
            if having:
                nothing = Literal(value.type, nullable=True, value=None)
                value = make_case([(combine_balanced("and", having), value)], nothing)
            value = resolve_outer(value, self.context.source_spans)
        else:
            self._check_rows(written.query, subquery)
            plan, value = self._single(subquery, keys)
        self._add(plan, outer_keys, keys, written.span)
        return value

    def bind_array(self, written: syntax.ArraySubquery) -> Expression:
        """Return the array of the rows of a subquery, as `bind` does.

        Raises:
            Refusal, Abandoned: as `bind`.
        """
        value = self.bind(as_aggregate(written))
        return call("coalesce", value, Literal(value.type, nullable=False, value=()))

    def add_row(self, subquery: Subquery) -> tuple[list[Expression], list[Expression]]:
        """Return the columns of an aggregate without GROUP BY, and the conditions of its HAVING.

        Raises:
            Refusal: E2xx to E4xx.
        """
        outer_keys, keys = self._keys(subquery)
        self.context.report.warn(unbounded_warning(subquery.span))
        plan, values, having = self._aggregate(subquery, keys)
        self._add(plan, outer_keys, keys, subquery.span)
        return values, having

    def bind_test(
        self,
        binder: ClauseBinder,
        written: syntax.InSubquery | syntax.Exists | syntax.QuantifiedComparison,
    ) -> Expression:
        """Return the value of IN or EXISTS, or of a comparison with ANY or ALL.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts of the subquery were refused.
        """
        negated = isinstance(written, syntax.InSubquery) and written.negated
        test = Test(written, negated)
        subquery = self.bind_subquery(self.context, tested_query(test), self.outer)
        operand = replace(
            binder, clause=f"the operand of {operator_name(test)}", running=None, subqueries=None
        )
        pairs = pair_values(test, subquery, operand)
        keys = self._keys(subquery)
        self.context.report.warn(unbounded_warning(written.span))
        return test_value(test, pairs, keys, partial(self._compute, subquery))

    def _compute(
        self,
        subquery: Subquery,
        outer_keys: list[Expression],
        keys: list[Expression],
        calls: Sequence[AggregateCall],
    ) -> list[Expression]:
        """Return aggregates of the rows with the keys; of no rows, counts are 0 and others NULL."""
        functions = [each.function.value.lower() for each in calls]
        names = make_distinct_names([*["key"] * len(keys), *functions])
        grouping = AggregateSpec(tuple(keys), names[: len(keys)], tuple(calls), names[len(keys) :])
        written = "subquery", subquery.span
        plan = make_group(subquery.rows.relation.plan, grouping, None, written, self.context.report)
        found: list[Expression] = []
        zero = Literal(BIGINT, nullable=False, value=0)
        for index, each in enumerate(calls):
            value = SubqueryValue(each.type, True, len(self.values), len(keys) + index)  # noqa: FBT003
            found.append(value if each.nullable else call("coalesce", value, zero))
        self._add(plan, outer_keys, keys, subquery.span)
        return found

    def _add(
        self, plan: Plan, outer_keys: list[Expression], keys: list[Expression], span: Span
    ) -> None:
        """Add the rows of a subquery, whose first columns are `keys`."""
        columns = (
            ColumnRef(column.type, column.nullable, index)
            for index, column in enumerate(plan.schema[: len(keys)])
        )
        outer_keys = outer_keys or [ZERO]
        constants = (ZERO,) * (len(outer_keys) - len(keys))
        self.values.append(BoundSubquery(plan, tuple(outer_keys), (*columns, *constants), span))

    def _keys(self, subquery: Subquery) -> tuple[list[Expression], list[Expression]]:
        """Return the keys of the outer query, and those of the subquery.

        Additional keys of the outer query are 0 or NULL; the subquery has 0 for all of its rows.
        """
        rows, spans = subquery.rows, self.context.source_spans
        pairs, between, of_outer = split_conditions(rows, spans)
        assert not between, "the other conditions are equalities with values of the outer query"
        only_outer = [zero_where(shift_columns(each, -rows.width, spans)) for each in of_outer]
        return [outer for _, outer in pairs] + only_outer, [inner for inner, _ in pairs]

    def _aggregate(
        self, subquery: Subquery, keys: list[Expression]
    ) -> tuple[Plan, list[Expression], list[Expression]]:
        """Return the groups by the keys, and the items and HAVING, of a group or of no rows."""
        assert subquery.aggregates is not None
        collector, spans = subquery.aggregates, self.context.source_spans
        relation = subquery.rows.relation
        calls = [*collector.calls]
        grouping = AggregateSpec(
            tuple(keys),
            make_distinct_names(["key"] * len(keys)),
            tuple(calls),
            collector.names(),
        )
        written = "subquery", subquery.span
        plan = make_group(relation.plan, grouping, None, written, self.context.report)
        names = [column.name for column in relation.plan.schema]
        groups = Groups({}, 0, names, spans)

        def value_of(part: Expression) -> Expression | None:
            if not isinstance(part, ColumnRef):
                return None
            value = self._column(part, len(keys) + part.index)
            if calls[part.index].nullable:
                return value
            return call("coalesce", value, Literal(part.type, nullable=False, value=0))

        values, having = (
            [replace_pending(groups.carry(each, subquery.spans), value_of, spans) for each in part]
            for part in ([item.expression for item in subquery.items], subquery.having)
        )
        return plan, values, having

    def _check_rows(self, query: syntax.Query, subquery: Subquery) -> None:
        """Check that a subquery has at most one row for each row of the outer query.

        Raises:
            Refusal: E324.
        """
        if isinstance(query.limit, syntax.NumberLiteral) and query.limit.text in {"0", "1"}:
            return
        rows = subquery.written or subquery.rows
        pairs, _, _ = split_conditions(rows, self.context.source_spans)
        known = [inner for inner, _ in pairs]
        one_row = isinstance(query.body, syntax.Select) and is_one_row(query.body)
        if not (one_row or _is_one_row(query.body)) and not covers_key(
            known, derived_keys(rows.relation.plan)
        ):
            raise refusal(
                "E324",
                "subquery as a value can have several rows",
                subquery.span,
                help="aggregate them, as in (SELECT MAX(x) …)",
            )

    def _single(self, subquery: Subquery, keys: list[Expression]) -> tuple[Plan, Expression]:
        """Return the rows, of which at most one has each key, with the keys first; and the value."""
        below = subquery.rows.relation.plan
        (item,) = subquery.items
        names = [*make_distinct_names(["key"] * len(keys)), item.name]
        plan = project(below, [*keys, item.expression], names)
        return plan, self._column(item.expression, len(keys))

    def _column(self, of: Expression, column: int) -> Expression:
        return SubqueryValue(of.type, nullable=True, index=len(self.values), column=column)


def _is_one_row(body: syntax.QueryBody) -> bool:
    """Return whether a query reads no table, and so has at most one row."""
    match body:
        case syntax.Select():
            return not body.relations
        case syntax.Values():
            return len(body.rows) == 1
        case _:
            return False


def has_subquery_value(expression: Expression) -> bool:
    """Return whether the expression is computed from a subquery."""
    return any(isinstance(node, SubqueryValue) for node in walk(expression))
