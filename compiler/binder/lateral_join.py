"""LATERAL subqueries over tables: joins with their rows for each value of the columns that are compared.

    t, LATERAL (SELECT x.a FROM x WHERE x.k = t.k ORDER BY x.b LIMIT 3)
        →  t JOIN (SELECT x.a, x.k FROM x, the first 3 rows of each k by b) ON k = t.k
    t, LATERAL (SELECT x.a, COUNT(*) FROM x WHERE x.k = t.k GROUP BY x.a)
        →  t JOIN (SELECT x.a, COUNT(*), x.k FROM x GROUP BY x.a, x.k) ON k = t.k
    t, LATERAL (SELECT MAX(x.a) AS m FROM x WHERE x.k = t.k)
        →  t with the value of (SELECT MAX(x.a) FROM x WHERE x.k = t.k)

The keys are part of each GROUP BY, PARTITION BY and DISTINCT of the subquery.  `decorrelation` makes keys of
other comparisons.  A plain SELECT needs no keys: its conditions are those of the join.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.conditionals import make_case
from fsql.compiler.binder.decorrelation import (
    equal_to_columns,
    named_outside_where,
    split_conditions,
    with_outer_values,
)
from fsql.compiler.binder.distinct_on import as_first_rows
from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.items import bind_items
from fsql.compiler.binder.join import columns_in, renumber
from fsql.compiler.binder.lateral import as_elements, gives_elements
from fsql.compiler.binder.limit import bind_first_rows
from fsql.compiler.binder.one_row import bind_one_row, resolve_outer
from fsql.compiler.binder.operators import combine_balanced
from fsql.compiler.binder.outer_join import with_columns
from fsql.compiler.binder.references import parts_without_subqueries
from fsql.compiler.binder.relation import (
    Relation,
    apply_alias,
    column_refs,
    filter_relation,
    project,
    relation_of,
)
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.scalar_subquery import SubqueryCollector
from fsql.compiler.binder.scope import Scope, fields_of
from fsql.compiler.binder.subquery import (
    Rows,
    bind_items_of,
    is_one_row,
    refuse_outer,
)
from fsql.compiler.expression import Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.declared_functions import Functions
    from fsql.compiler.binder.items import Item
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.binder.subquery import Subquery
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan

    SubqueryBinder = Callable[[syntax.Query, Relation], Subquery]
    RowsBinder = Callable[[syntax.Select, Layer], Rows]


@dataclass(frozen=True, slots=True)
class LateralRows:
    """The rows of a LATERAL subquery, and the conditions that join them with the rows before it.

    `finish` makes the result of the join.
    """

    relation: Relation
    on: list[Expression]
    finish: Callable[[Relation], Relation] | None = None


@dataclass(frozen=True, slots=True)
class LateralBinder:
    """Binds LATERAL subqueries over tables, for the rows of `outer`; with `left` in a LEFT JOIN."""

    outer: Relation
    bind_rows: RowsBinder
    bind_subquery: SubqueryBinder
    bind_query: QueryBinder
    context: Context
    left: bool

    def bind(self, written: syntax.Derived) -> LateralRows | Relation:
        """Return the rows of a subquery that are to be joined, or the result of the join.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts were refused.
        """
        query, select = written.query, written.query.body
        assert isinstance(select, syntax.Select)
        if query.common_tables:
            raise not_implemented(
                "WITH in LATERAL", query.span, help="write WITH before the whole query"
            )
        for part in select.relations:
            refuse_outer(part, query, self.outer.fields)
        if (
            query.order_by
            and query.limit is None
            and query.offset is None
            and not select.distinct_on
        ):
            raise not_implemented(
                "ORDER BY without LIMIT in LATERAL",
                query.span,
                help="write ORDER BY x LIMIT n: the first rows of each key",
            )
        rows = self.bind_rows(select, self.outer.fields)
        used = named_outside_where(query, select, rows, self.outer)
        if is_one_row(select):
            return self._with_row(written, select, rows, used)
        if _is_plain(query, select) and not (used and self.left):
            return self._plain(written, select, rows, used)
        return self._in_partitions(written, select, rows, used)

    def _with_row(
        self, written: syntax.Derived, select: syntax.Select, rows: Rows, used: frozenset[int]
    ) -> Relation:
        """Return each row with that of an aggregate without GROUP BY, also if it aggregates no rows."""
        query, context, spans = written.query, self.context, self.context.source_spans
        if query.limit is not None or query.offset is not None or select.distinct_on:
            raise not_implemented(
                "LIMIT and DISTINCT ON of an aggregate without GROUP BY in LATERAL",
                query.span,
                help="remove it: there is one row",
            )
        if select.windows or select.qualify is not None or select.emit is not None:
            raise not_implemented("WINDOW, QUALIFY and EMIT in LATERAL", select.span)
        subquery = bind_one_row(select, query.span, rows, (self.outer, used), context)
        collector = SubqueryCollector(context, self.bind_subquery, self.outer)
        values, having = collector.add_row(subquery)
        plan, resolve = collector.attach(self.outer.plan)

        values, kept = (
            [resolve_outer(resolve(each), spans) for each in part] for part in (values, having)
        )
        if self.left and kept:
            condition = combine_balanced("and", kept)
            values = [
                make_case([(condition, each)], Literal(each.type, nullable=True, value=None))
                for each in values
            ]
        elif kept:
            plan = filter_relation(plan, kept)
        return self._combine(plan, values, subquery.items, written.alias)

    def _plain(
        self, written: syntax.Derived, select: syntax.Select, rows: Rows, used: frozenset[int]
    ) -> LateralRows:
        """Return the rows of a SELECT without groups, which is joined by its conditions."""
        if used:
            return self._joined_first(written, select, rows)
        spans = self.context.source_spans
        subquery = bind_items_of(select, written.query.span, rows, self.context)
        pairs, between, of_outer = split_conditions(rows, spans)
        others = [*between, *of_outer]
        compared = sorted({i for each in others for i in columns_in(each) if i < rows.width})
        plan = rows.relation.plan
        values = [item.expression for item in subquery.items]
        hidden = [*(inner for inner, _ in pairs), *(column_refs(plan)[i] for i in compared)]
        names = [item.name for item in subquery.items]
        plan = project(
            plan, [*values, *hidden], [*names, *(f"key_{i}" for i in range(len(hidden)))]
        )
        first = self.outer.width + len(values)
        places = {column: first + len(pairs) + index for index, column in enumerate(compared)}
        on = equal_to_columns(pairs, first)
        on += [renumber(each, lambda i: places.get(i, i - rows.width), spans) for each in others]
        return LateralRows(_named(plan, len(values), written.alias), on)

    def _joined_first(
        self, written: syntax.Derived, select: syntax.Select, rows: Rows
    ) -> LateralRows:
        """Return the rows of a SELECT whose items are computed from the pairs of an inner join."""
        width, spans = self.outer.width, self.context.source_spans

        def finish(joined: Relation) -> Relation:
            inner = tuple(field.shift(width) for field in rows.relation.fields)
            binder = ExpressionBinder(
                Scope((inner, self.outer.fields)),
                "SELECT",
                spans,
                self.context.functions,
                self.context.zone,
            )
            with self.context.report.whole():
                items = bind_items(binder, select, self.context.report)
            values = [item.expression for item in items]
            return self._combine(joined.plan, values, items, written.alias)

        on = [rows.over_both(each, width, spans) for each in rows.correlated]
        return LateralRows(Relation(rows.relation.plan, ()), on, finish)

    def _in_partitions(
        self, written: syntax.Derived, select: syntax.Select, rows: Rows, used: frozenset[int]
    ) -> LateralRows:
        """Return the rows of any other SELECT, computed for each value of the columns compared."""
        query, spans = written.query, self.context.source_spans
        _, between, _ = split_conditions(rows, spans)
        if between or used:
            rows, _ = with_outer_values(rows, self.outer, used, written.span, spans)
        pairs, _, of_outer = split_conditions(rows, spans)
        keys = [inner for inner, _ in pairs]

        def bind_body(body: syntax.QueryBody, context: Context) -> Plan:
            assert isinstance(body, syntax.Select)
            return self.bind_query.of_partitions(body, rows.relation, keys, context)

        if select.distinct_on:
            plan = bind_body(as_first_rows(query, select), self.context)
        elif query.limit is not None or query.offset is not None:
            plan = bind_first_rows(query, self.context, bind_body, len(keys))
        else:
            plan = bind_body(select, self.context)
        width = len(plan.schema) - len(keys)
        on = equal_to_columns(pairs, self.outer.width + width)
        on += [renumber(each, lambda i: i - rows.width, spans) for each in of_outer]
        return LateralRows(_named(plan, width, written.alias), on)

    def _combine(
        self,
        plan: Plan,
        values: Sequence[Expression],
        items: Sequence[Item],
        alias: syntax.TableAlias | None,
    ) -> Relation:
        """Return the outer row's columns, followed by the subquery's."""
        outer = self.outer
        names = [*(column.name for column in outer.plan.schema), *(each.name for each in items)]
        made = project(plan, [*column_refs(plan)[: outer.width], *values], names)
        inner = Relation(made, fields_of(made.schema, None)[outer.width :])
        return Relation(made, outer.fields + apply_alias(inner, alias).fields, outer.row_time)


def keeps_outer(clause: syntax.JoinClause, functions: Functions) -> bool:
    """Return whether a lateral join keeps rows for which its relation has none.

    Raises:
        Refusal: E301 for another kind of join, USING, or a condition that pads elements of an array.
    """
    right, condition = as_elements(clause.right), condition_of(clause)
    if clause.using or clause.natural or clause.within is not None:
        raise not_implemented(
            "USING, NATURAL and WITHIN of a lateral join",
            clause.span,
            help="write the condition in ON",
        )
    if clause.kind == "LEFT" and reads_tables(right, functions):
        return True
    if clause.kind == "LEFT" and gives_elements(right, functions):
        if condition is not None:
            raise not_implemented(
                "condition of a LEFT JOIN with the elements of an array",
                condition.span,
                help="filter the array: UNNEST(FILTER(array, x -> …)) … ON TRUE",
            )
        return True
    if clause.kind not in {"CROSS", "INNER"}:
        raise not_implemented(f"{clause.kind} JOIN of a lateral relation", clause.span)
    return False


def condition_of(clause: syntax.JoinClause) -> syntax.Expression | None:
    """Return the condition of a join; None if it is always TRUE."""
    condition = clause.condition
    always = isinstance(condition, syntax.BooleanLiteral) and condition.value
    return None if always else condition


def null_unless(joined: Relation, width: int, conditions: Sequence[Expression]) -> Relation:
    """Return a relation whose columns from `width` on are NULL where a condition is not TRUE."""
    condition, columns = combine_balanced("and", conditions), column_refs(joined.plan)
    values = [
        make_case([(condition, each)], Literal(each.type, nullable=True, value=None))
        for each in columns[width:]
    ]
    names = [column.name for column in joined.plan.schema]
    plan = project(joined.plan, [*columns[:width], *values], names)
    return replace(with_columns(joined.fields, plan), row_time=joined.row_time)


def reads_tables(written: syntax.Relation, functions: Functions) -> bool:
    """Return whether a lateral relation is a subquery that reads tables, and not only arrays of a row."""
    if not isinstance(written, syntax.Derived) or not isinstance(written.query.body, syntax.Select):
        return False
    return not all(gives_elements(each, functions) for each in written.query.body.relations)


def _is_plain(query: syntax.Query, select: syntax.Select) -> bool:
    """Return whether each row of a SELECT depends on one row of its FROM."""
    if query.limit is not None or query.offset is not None or select.qualify is not None:
        return False
    calls = (part for item in select.items for part in parts_without_subqueries(item))
    return (
        select.group_by is None
        and not (select.distinct or select.distinct_on or select.windows)
        and select.emit is None
        and not any(isinstance(part, syntax.FunctionCall) and part.over for part in calls)
    )


def _named(plan: Plan, width: int, alias: syntax.TableAlias | None) -> Relation:
    """Return the relation with the first columns of a plan; the others have no name."""
    return apply_alias(Relation(plan, relation_of(plan, None).fields[:width]), alias)
