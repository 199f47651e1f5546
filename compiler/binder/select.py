"""SELECT: its clauses bound over the result of FROM and WHERE, which `planner.select` makes operators of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.aggregate import AggregateCollector
from fsql.compiler.binder.aggregates.grouping_sets import bind_sets
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.hidden_time import hidden_time
from fsql.compiler.binder.hints import with_hints
from fsql.compiler.binder.items import (
    Item,
    aggregate_names,
    bind_items,
    bind_key,
    has_aggregate,
    item_aliases,
    refused_names,
)
from fsql.compiler.binder.over.over import RunningCollector
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.subqueries.scalar_subquery import has_subquery_value
from fsql.compiler.binder.subqueries.subquery import calls_with_subquery
from fsql.compiler.binder.where import AFTER_OVER, bind_rows, subquery_collector
from fsql.compiler.binder.windows.group_window import assign_group_window, group_window_call
from fsql.compiler.binder.windows.window import is_window_call
from fsql.compiler.bound.pending import RunningValue, SubqueryValue
from fsql.compiler.bound.select import (
    BoundClause,
    BoundGroups,
    BoundSelect,
    Emission,
    GroupKeys,
    Key,
)
from fsql.compiler.expression import Expression, Literal
from fsql.compiler.logical import append_only
from fsql.compiler.node import walk
from fsql.compiler.planner.select import Planning, plan_select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.subqueries.scalar_subquery import SubqueryCollector
    from fsql.compiler.logical import Plan


def bind_select(select: syntax.Select, context: Context, bind_query: QueryBinder) -> Plan:
    """Return the plan of one SELECT.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    if select.distinct_on:
        raise not_implemented(
            "DISTINCT ON in a part of a set operation",
            select.distinct_on[0].span,
            help="write it in brackets: (SELECT DISTINCT ON (k) … ORDER BY k, x) UNION ALL …",
        )
    hinted = with_hints(select, context)
    with context.report.whole():
        relation = bind_rows(select, hinted, bind_query).relation
        plan = bind_partitioned(select, relation, (), hinted, bind_query)
    if hinted.skews is not context.skews:
        hinted.skews.warn_unused(context.report)
    if hinted.broadcasts is not context.broadcasts:
        hinted.broadcasts.warn_unused(context.report)
    if hinted.time_to_live is not context.time_to_live:
        hinted.time_to_live.check_all_ends(plan, select.span)
    return plan


def bind_partitioned(
    select: syntax.Select,
    relation: Relation,
    partition: Sequence[Expression],
    context: Context,
    bind_query: QueryBinder,
) -> Plan:
    """Return the plan of a SELECT over the rows of FROM and WHERE: see `QueryBinder.of_partitions`.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    relation, window = assign_group_window(select, relation, context)
    keys = [Key(each, f"key_{index}", select.span) for index, each in enumerate(partition)]
    with context.report.whole():
        bound = _SelectBinder(select, relation, window, keys, context, bind_query).bind()
        lifetime = context.time_to_live.of_groups
        return plan_select(
            bound, Planning(context.report, context.source_spans, lifetime, context.planned)
        )


def emission(select: syntax.Select) -> Emission | None:
    """Return when a SELECT releases its rows, if that is written."""
    emit = select.emit
    return None if emit is None else Emission(emit.mode == "FINAL", emit.span)


class _SelectBinder:
    """Binds the expressions of a SELECT over the result of FROM and WHERE."""

    def __init__(
        self,
        select: syntax.Select,
        relation: Relation,
        window: list[Key],
        partition: list[Key],
        context: Context,
        bind_query: QueryBinder,
    ) -> None:
        self._select = select
        self._relation = relation
        self._window = window
        self._partition = partition
        self._report = context.report
        self._join_names = context.join_names
        self._hidden_times = context.hidden_times
        self._source_spans = context.source_spans
        self._functions = context.functions
        self._zone = context.zone
        self._argument_subqueries = subquery_collector(context, bind_query, relation)
        self._over_subqueries = subquery_collector(context, bind_query, relation)
        stays = append_only(relation.plan)
        # Values of subqueries may change, and so may rows with them.
        of_groups, of_windows = calls_with_subquery(select, context.functions)
        self._aggregates = AggregateCollector(
            append_only=stays and not of_groups,
            grouping=select.group_by is not None,
            subqueries=self._argument_subqueries,
        )
        self._running = RunningCollector(
            select.windows,
            context.source_spans,
            stays and not of_windows,
            self._over_subqueries,
            tuple(key.expression for key in partition),
        )
        self._subqueries = subquery_collector(context, bind_query, relation)
        self._having_subqueries = subquery_collector(context, bind_query, relation)
        self._items_binder = self._binder("SELECT", self._subqueries, running=True)
        self._having_binder = self._binder("HAVING", self._having_subqueries)
        self._qualify_binder = self._binder("QUALIFY", self._subqueries, running=True)

    def _binder(
        self, clause: str, subqueries: SubqueryCollector, *, running: bool = False
    ) -> ExpressionBinder:
        return ExpressionBinder(
            self._relation.scope,
            clause,
            self._source_spans,
            self._functions,
            self._zone,
            self._aggregates,
            self._running if running else None,
            window=group_window_call(self._select),
            subqueries=subqueries,
        )

    def bind(self) -> BoundSelect:
        """Return the SELECT with its names resolved.

        Raises:
            Refusal, Abandoned: where anything was refused.
        """
        select = self._select
        with self._report.whole():
            items = bind_items(self._items_binder, select, self._report)
            if any(item.join_name for item in items):
                self._join_names[select.span] = tuple(item.join_name for item in items)
            items += [Item(key.expression, key.name, key.span, None) for key in self._partition]
            if not self._aggregates.calls:
                items += hidden_time(select, self._relation, self._hidden_times)
            having = self._having(items)
            qualify = self._qualify(items)
            keys = self._keys(items)
        grouped = select.group_by is not None or self._aggregates.calls or having
        return BoundSelect(
            select.span,
            self._relation.plan,
            self._groups(items, keys) if grouped else None,
            BoundClause(tuple(having), self._having_binder.spans),
            self._running.bound(),
            BoundClause(tuple(qualify), self._qualify_binder.spans),
            BoundClause(tuple(item.expression for item in items), self._items_binder.spans),
            tuple(item.name for item in items),
            select.distinct,
            emission(select),
            tuple(self._argument_subqueries.values),
            tuple(self._having_subqueries.values),
            tuple(self._over_subqueries.values),
            tuple(self._subqueries.values),
        )

    def _groups(self, items: list[Item], keys: GroupKeys) -> BoundGroups:
        """Return the keys and aggregates; an aggregate that is a select item has the name of the item."""
        span = items[0].span
        if self._select.group_by:
            span = self._select.group_by[0].span.to(self._select.group_by[-1].span)
        calls = tuple(self._aggregates.calls)
        return BoundGroups(keys, calls, aggregate_names(self._aggregates, items), span)

    def _having(self, items: list[Item]) -> list[Expression]:
        """Return the condition of HAVING, in which items of groups can be named by their aliases."""
        having: list[Expression] = []
        if self._select.having is not None:
            self._having_binder.aliases = {
                alias: expression
                for alias, expression in item_aliases(items).items()
                if not any(
                    isinstance(part, RunningValue | SubqueryValue) for part in walk(expression)
                )
            }
            self._having_binder.hidden = {
                alias: AFTER_OVER
                for alias, expression in item_aliases(items).items()
                if any(isinstance(part, RunningValue) for part in walk(expression))
            }
            self._having_binder.refused = refused_names(items)
            with self._report.part():
                having.append(
                    self._having_binder.bind_condition_and_check_size(self._select.having)
                )
        return having

    def _qualify(self, items: list[Item]) -> list[Expression]:
        """Return the condition of QUALIFY, in which items can be named by their aliases."""
        qualify: list[Expression] = []
        if self._select.qualify is not None:
            self._qualify_binder.aliases = item_aliases(items)
            self._qualify_binder.refused = refused_names(items)
            with self._report.part():
                qualify.append(
                    self._qualify_binder.bind_condition_and_check_size(self._select.qualify)
                )
                if not self._running.calls and not self._running.ranks:
                    raise refusal(
                        "E404",
                        "QUALIFY without OVER",
                        self._select.qualify.span,
                        help="write WHERE, or HAVING for groups",
                    )
        return qualify

    def _keys(self, items: list[Item]) -> GroupKeys:
        binder = ExpressionBinder(
            self._relation.scope, "GROUP BY", self._source_spans, self._functions, self._zone
        )
        binder.refused = refused_names(items)

        if self._select.group_by_all:
            return GroupKeys.of(((*self._keys_of_all(items), *self._partition),))

        def bind(element: syntax.Expression) -> tuple[Key, ...]:
            if isinstance(element, syntax.FunctionCall) and is_window_call(element):
                if not any(element is each for each in self._select.group_by or ()):
                    raise not_implemented(
                        "window in a grouping set",
                        element.span,
                        help="write it next to GROUPING SETS, separated by a comma",
                    )
                return tuple(self._window)
            keys: list[Key] = []
            with self._report.part():
                key = bind_key(binder, element, items)
                if has_subquery_value(key.expression):
                    raise not_implemented(
                        "subquery in GROUP BY",
                        key.span,
                        help="compute it in the SELECT of a subquery in FROM",
                    )
                keys.append(key)
            return tuple(keys)

        sets: tuple[tuple[Key, ...], ...] = ((),)
        with self._report.part():
            sets = bind_sets(self._select.group_by or (), bind)
        return GroupKeys.of([(*one, *self._partition) for one in sets])

    def _keys_of_all(self, items: list[Item]) -> tuple[Key, ...]:
        """Return the keys of GROUP BY ALL: the items that are not computed from groups."""
        keys: list[Key] = []
        for item in items:
            with self._report.part():
                if has_subquery_value(item.expression):
                    raise not_implemented(
                        "subquery in GROUP BY",
                        item.span,
                        help="compute it in the SELECT of a subquery in FROM",
                    )
                if not has_aggregate(item.expression) and not isinstance(item.expression, Literal):
                    keys.append(Key(item.expression, item.name, item.span))
        return tuple(keys)
