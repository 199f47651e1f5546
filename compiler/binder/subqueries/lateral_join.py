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

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.distinct_on import as_first_rows
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.items import bind_items
from fsql.compiler.binder.joins.join import columns_in, renumber
from fsql.compiler.binder.limit import bind_first_rows
from fsql.compiler.binder.references import parts_without_subqueries
from fsql.compiler.binder.relation import Relation, apply_alias, relation_of
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import Scope, fields_of
from fsql.compiler.binder.subqueries.decorrelation import (
    equal_to_columns,
    named_outside_where,
    split_conditions,
    with_outer_values,
)
from fsql.compiler.binder.subqueries.dependent_from import (
    begins_with_relation,
    distinct_values,
    equal_values,
    lateral_relations,
    moved_columns,
    named_below_where,
    named_outer,
    only_qualified,
)
from fsql.compiler.binder.subqueries.one_row import bind_one_row, resolve_outer
from fsql.compiler.binder.subqueries.scalar_subquery import SubqueryCollector
from fsql.compiler.binder.subqueries.subquery import Rows, bind_items_of, is_one_row, refuse_outer
from fsql.compiler.expression import Literal
from fsql.compiler.functions.calls import combine_balanced, make_case
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.planner.select import join_subqueries
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.items import Item
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.binder.subqueries.subquery import Subquery
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan

    SubqueryBinder = Callable[[Context, syntax.Query, Relation], Subquery]
    PartJoiner = Callable[[Context, Relation, syntax.Derived], Relation]

    class RowsBinder(Protocol):
        """Binds FROM and WHERE of a SELECT: see `where.bind_rows`."""

        def __call__(
            self,
            context: Context,
            select: syntax.Select,
            outer: Layer,
            first: Relation | None = None,
        ) -> Rows: ...


_PART: Final = generated_name("part")
"""The name of a part of a set operation."""


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
    join: PartJoiner

    def bind(self, written: syntax.Derived) -> LateralRows | Relation:
        """Return the rows of a subquery that are to be joined, or the result of the join.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts were refused.
        """
        query, select = written.query, written.query.body
        if query.common_tables:
            for table in query.common_tables:
                refuse_outer(table.query, query, self.outer.fields)
            context = self.bind_query.with_common_tables(query.common_tables, self.context)
            return replace(self, context=context).bind(
                replace(written, query=replace(query, common_tables=()))
            )
        bounded = query.limit is not None or query.offset is not None
        if query.order_by and not bounded and not _has_distinct_on(select):
            raise not_implemented(
                "ORDER BY without LIMIT in LATERAL",
                query.span,
                help="write ORDER BY x LIMIT n: the first rows of each key",
            )
        if not isinstance(select, syntax.Select):
            return self._of_parts(written)
        if named_below_where(query, select, self.outer, self.context.functions):
            return self._dependent(written, select)
        rows = self.bind_rows(self.context, select, self.outer.fields)
        used = named_outside_where(query, select, rows, self.outer)
        if is_one_row(select):
            return self._with_row(written, select, rows, used)
        if _is_plain(query, select) and not (used and self.left):
            return self._plain(written, select, rows, used)
        return self._in_partitions(written, select, rows, used)

    def _of_parts(self, written: syntax.Derived) -> LateralRows | Relation:
        """Return the rows of a set operation, whose parts are joined with the values of `outer` first.

        Those of an inner join with UNION ALL are the parts joined with `outer` itself, which keeps no state.
        """
        query, body, context = written.query, written.query.body, self.context
        used = sorted(named_outer(query, query, self.outer))
        if not used:
            return LateralRows(_named_all(self.bind_query(query, context), written.alias), [])
        direct = not self.left and _is_union_all(query)
        around = self.outer if direct else distinct_values(self.outer, used)
        counts: list[int] = []

        def bind_part(part: syntax.QueryBody, context: Context) -> Plan:
            if isinstance(part, syntax.SetOperation):
                return self.bind_query.of_parts(part, context, bind_part)
            plan = self._part(around, part, context)
            counts.append(len(plan.schema) - around.width)
            if counts[-1] != counts[0]:
                raise refusal(
                    "E209",
                    f"set operation of {counts[0]} columns and {counts[-1]}",
                    part.span,
                )
            return plan

        if query.limit is not None or query.offset is not None:
            plan = bind_first_rows(query, context, bind_part, around.width)
        else:
            plan = bind_part(body, context)
        width = len(plan.schema) - around.width
        if direct:
            columns = column_refs(plan)
            names = [column.name for column in plan.schema]
            moved = project(
                plan, [*columns[width:], *columns[:width]], [*names[width:], *names[:width]]
            )
            own = relation_of(moved, None).fields[around.width :]
            fields = apply_alias(Relation(moved, own), written.alias).fields
            return Relation(moved, self.outer.fields + fields, self.outer.row_time)
        values = moved_columns(column_refs(plan), range(width, len(plan.schema)), self.outer.width)
        on = equal_values(values, [column_refs(self.outer.plan)[index] for index in used])
        return LateralRows(_named(plan, width, written.alias), on)

    def _part(self, around: Relation, part: syntax.QueryBody, context: Context) -> Plan:
        """Return the columns of a part of a set operation, followed by those of the rows around it."""
        span = part.span
        query = part if isinstance(part, syntax.Query) else syntax.Query(span, part)
        alias = syntax.TableAlias(span, syntax.Identifier(span, _PART))
        joined = self.join(context, around, syntax.Derived(span, query, lateral=True, alias=alias))
        own = joined.fields[len(around.fields) :]
        columns = column_refs(joined.plan)[: around.width]
        names = [*(field.name for field in own), *(column.name for column in around.plan.schema)]
        return project(joined.plan, [*(field.expression for field in own), *columns], names)

    def _dependent(self, written: syntax.Derived, select: syntax.Select) -> LateralRows | Relation:
        """Return the rows of a SELECT whose FROM depends on the rows before it."""
        query, context = written.query, self.context
        plain = _is_plain(query, select) and not is_one_row(select)
        used = sorted(
            named_outer(query, query, self.outer)
            | named_below_where(query, select, self.outer, context.functions)
        )
        direct = plain and not self.left
        values = self.outer if direct else distinct_values(self.outer, used)
        relations = lateral_relations(query, select, self.outer)
        select = replace(select, relations=relations)
        first = (
            only_qualified(values) if begins_with_relation(select, context.functions) else values
        )
        rows = self.bind_rows(context, select, (), first)
        if direct:
            binder = ExpressionBinder(
                rows.relation.scope, "SELECT", context.source_spans, context.functions, context.zone
            )
            with context.report.whole():
                items = bind_items(binder, select, context.report)
            computed = [item.expression for item in items]
            return self._combine(rows.relation.plan, computed, items, written.alias)
        own = column_refs(rows.relation.plan)[: values.width]
        others = moved_columns(column_refs(self.outer.plan), used, rows.width)
        rows = replace(rows, correlated=tuple(equal_values(own, others)))
        if is_one_row(select):
            return self._with_row(written, select, rows, frozenset(), dict(enumerate(used)))
        if plain:
            return self._plain(written, select, rows, frozenset())
        return self._in_partitions(written, select, rows, frozenset())

    def _with_row(
        self,
        written: syntax.Derived,
        select: syntax.Select,
        rows: Rows,
        used: frozenset[int],
        values_of: Mapping[int, int] | None = None,
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
        subquery = bind_one_row(select, query.span, rows, (self.outer, used), context, values_of)
        collector = SubqueryCollector(context, self.bind_subquery, self.outer)
        values, having = collector.add_row(subquery)
        plan, resolve = join_subqueries(self.outer.plan, collector.values, context.source_spans)

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


def _has_distinct_on(body: syntax.QueryBody) -> bool:
    return isinstance(body, syntax.Select) and bool(body.distinct_on)


def _is_union_all(query: syntax.Query) -> bool:
    """Return whether a query is a UNION ALL of its parts, without LIMIT."""
    body = query.body
    return (
        query.limit is None
        and query.offset is None
        and isinstance(body, syntax.SetOperation)
        and all(term.operator == "UNION" and term.all for term in body.terms)
    )


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


def _named_all(plan: Plan, alias: syntax.TableAlias | None) -> Relation:
    return _named(plan, len(plan.schema), alias)


def _named(plan: Plan, width: int, alias: syntax.TableAlias | None) -> Relation:
    """Return the relation with the first columns of a plan; the others have no name."""
    return apply_alias(Relation(plan, relation_of(plan, None).fields[:width]), alias)
