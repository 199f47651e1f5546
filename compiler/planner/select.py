"""From a bound SELECT to operators, one clause after the other, in the order in which SQL evaluates them.

A pass takes its clause off the SELECT: it adds operators to the rows, and rewrites the clauses that remain
over the columns of these.  After the last pass, the rows are those of the SELECT.

What can only be refused when it is known which operator computes it, such as EMIT FINAL of groups that never
close, is refused here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.bound.pending import SubqueryValue, replace_pending
from fsql.compiler.bound.select import BoundClause
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.logical import Join, JoinKind, Plan, append_only
from fsql.compiler.planner.grouping import (
    AggregateSpec,
    Groups,
    complete_keys,
    expand_sets,
    group,
    make_group,
    over_groups,
    refuse_final,
)
from fsql.compiler.planner.joins.interval_join import has_interval_join
from fsql.compiler.planner.over.rank import windowed_partition
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.bound.lifetimes import Lifetime
    from fsql.compiler.bound.select import BoundSelect, BoundSubquery
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.text.source import Span

    Over = Callable[[Expression, Mapping[Expression, Span]], Expression]


class PlannedSelect(NamedTuple):
    """A bound SELECT, and what each pass that changes it makes of it."""

    bound: BoundSelect
    steps: tuple[tuple[str, BoundSelect], ...]


@dataclass(frozen=True, slots=True)
class Planning:
    """What passes need besides the SELECT: the report, the spans, and how long groups are kept."""

    report: Report
    source_spans: SourceSpans
    lifetime: Lifetime | None = None
    planned: dict[Span, PlannedSelect] = field(default_factory=dict)
    """What is done here, for `fsql explain --stage bound`: a SELECT that is planned twice is in it once."""


class Pass(NamedTuple):
    """A pass, and the clause that it plans; without that clause, it changes nothing."""

    name: str
    plan: Callable[[BoundSelect, Planning], BoundSelect]


def plan_select(select: BoundSelect, planning: Planning) -> Plan:
    """Return the plan of a SELECT.

    Raises:
        Refusal: E301 to E307, where an operator cannot compute what is written.
        Abandoned: where several parts were refused.
    """
    bound, steps = select, []
    for name, plan in PASSES:
        before, select = select, plan(select, planning)
        if select != before:
            steps.append((name, select))
    planning.planned.pop(bound.span, None)
    planning.planned[bound.span] = PlannedSelect(bound, tuple(steps))
    return select.rows


def _windows(select: BoundSelect, _planning: Planning) -> BoundSelect:
    """Group by whole windows where one bound is a key; note whether the rows are final anyway."""
    rows = select.rows
    if select.groups is not None:
        keys = complete_keys(select.groups.keys, rows, select.expressions())
        return replace(select, groups=replace(select.groups, keys=keys))
    partitions = () if select.over is None else select.over.of_windows()
    can_emit = has_interval_join(rows) or any(windowed_partition(rows, each) for each in partitions)
    return replace(select, can_emit=can_emit)


def _argument_subqueries(select: BoundSelect, planning: Planning) -> BoundSelect:
    """Join the subqueries in arguments of aggregates."""
    if select.groups is None or not select.argument_subqueries:
        return select
    spans = planning.source_spans
    rows, resolve = join_subqueries(select.rows, select.argument_subqueries, spans)
    groups = select.groups.rewrite(resolve, spans)
    return replace(select, rows=rows, groups=groups, argument_subqueries=())


def _groups(select: BoundSelect, planning: Planning) -> BoundSelect:
    """Group the rows, once for each grouping set."""
    groups = select.groups
    if groups is None:
        return select
    span = groups.span
    if len(groups.keys.sets) == 1 and groups.keys.keys:
        span = groups.keys.keys[0].span.to(groups.keys.keys[-1].span)
    names = [column.name for column in select.rows.schema]
    below, keys = expand_sets(groups.keys, select.rows, span)
    grouping = group(keys, groups.aggregates, groups.aggregate_names)
    over = over_groups(groups.keys, Groups({}, 0, names, planning.source_spans), grouping)
    report = planning.report
    with report.whole():
        items = _clause_over(select.items, over, report)
        having = _clause_over(select.having, over, report)
        qualify = _clause_over(select.qualify, over, report)
        with report.part():
            written = "GROUP BY", span
            rows = make_group(below, grouping, select.emit, written, report, planning.lifetime)
            having_subqueries = _subqueries_over(select.having_subqueries, over)
    over_subqueries = _subqueries_over(select.over_subqueries, over)
    running = select.over
    if running is not None:
        spans = running.spans
        running = running.rewrite(lambda part: over(part, spans), planning.source_spans)
    return replace(
        select,
        rows=rows,
        groups=None,
        having=having,
        over=running,
        qualify=qualify,
        items=items,
        having_subqueries=having_subqueries,
        over_subqueries=over_subqueries,
        item_subqueries=_subqueries_over(select.item_subqueries, over),
        can_emit=True,
        grouped=True,
    )


def _clause_over(clause: BoundClause, over: Over, report: Report) -> BoundClause:
    """Return a clause over the rows of groups; what is refused is recorded."""
    expressions: list[Expression] = []
    for expression in clause.expressions:
        with report.part():
            expressions.append(over(expression, clause.spans))
    return replace(clause, expressions=tuple(expressions))


def _subqueries_over(subqueries: Sequence[BoundSubquery], over: Over) -> tuple[BoundSubquery, ...]:
    """Return subqueries whose keys of the query around them are over the rows of groups."""
    return tuple(
        each.rewrite(lambda key, span=each.span: over(key, defaultdict(lambda: span)))  # type: ignore[misc]
        for each in subqueries
    )


def join_subqueries(
    plan: Plan, subqueries: Sequence[BoundSubquery], source_spans: SourceSpans
) -> tuple[Plan, Callable[[Expression], Expression]]:
    """Return `plan` with the columns of subqueries, and the function that resolves their placeholders."""
    indexes: list[int] = []
    for each in subqueries:
        indexes.append(len(plan.schema))
        plan = Join(plan, each.rows, each.outer_keys, each.keys, None, JoinKind.LEFT)

    def resolve(expression: Expression) -> Expression:
        return replace_pending(
            expression,
            lambda part: (
                ColumnRef(part.type, part.nullable, indexes[part.index] + part.column)
                if isinstance(part, SubqueryValue)
                else None
            ),
            source_spans,
        )

    return plan, resolve


def _having(select: BoundSelect, planning: Planning) -> BoundSelect:
    """Keep the groups of HAVING."""
    rows, resolve = join_subqueries(select.rows, select.having_subqueries, planning.source_spans)
    rows = filter_relation(rows, [resolve(each) for each in select.having.expressions])
    return replace(select, rows=rows, having=_NONE, having_subqueries=())


def _over(select: BoundSelect, planning: Planning) -> BoundSelect:
    """Compute running aggregates and ranks."""
    running, spans = select.over, planning.source_spans
    if running is None:
        return select
    from fsql.compiler.planner.over.operators import add_running  # most queries have no OVER

    rows, resolve = join_subqueries(select.rows, select.over_subqueries, spans)
    if select.over_subqueries:
        running = running.rewrite(resolve, spans)
    rows, resolve = add_running(rows, running, select.emit, planning.report, spans)
    select = _resolved(select, resolve)
    return replace(select, rows=rows, over=None, over_subqueries=())


def _item_subqueries(select: BoundSelect, planning: Planning) -> BoundSelect:
    """Join the subqueries in items of SELECT and in QUALIFY."""
    rows, resolve = join_subqueries(select.rows, select.item_subqueries, planning.source_spans)
    return replace(_resolved(select, resolve), rows=rows, item_subqueries=())


def _resolved(select: BoundSelect, resolve: Callable[[Expression], Expression]) -> BoundSelect:
    """Return the SELECT with placeholders in its items and in QUALIFY resolved."""
    items, qualify = (
        replace(clause, expressions=tuple(map(resolve, clause.expressions)))
        for clause in (select.items, select.qualify)
    )
    return replace(select, items=items, qualify=qualify)


def _qualify(select: BoundSelect, _planning: Planning) -> BoundSelect:
    """Keep the rows of QUALIFY."""
    rows = filter_relation(select.rows, select.qualify.expressions)
    return replace(select, rows=rows, qualify=_NONE)


def _items(select: BoundSelect, _planning: Planning) -> BoundSelect:
    """Compute the items of SELECT, and nothing else."""
    rows = project(select.rows, select.items.expressions, select.names)
    if rows is select.rows:
        return select
    return replace(select, rows=rows, items=BoundClause(tuple(column_refs(rows)), {}))


def _distinct(select: BoundSelect, planning: Planning) -> BoundSelect:
    """Keep one of the rows that are equal."""
    if not select.distinct:
        return select
    rows, report = select.rows, planning.report
    names = tuple(column.name for column in rows.schema)
    grouping = AggregateSpec(tuple(column_refs(rows)), names, (), ())
    emit = None if select.grouped else select.emit
    rows = make_group(rows, grouping, emit, ("DISTINCT", select.span), report, planning.lifetime)
    return replace(select, rows=rows, distinct=False, can_emit=True)


def _emit(select: BoundSelect, _planning: Planning) -> BoundSelect:
    """Check that rows that can be taken back are not asked to be final."""
    if not (select.can_emit or append_only(select.rows)):
        refuse_final(select.emit)
    return replace(select, emit=None)


_NONE: Final = BoundClause((), {})
PASSES: Final = (
    Pass("windows", _windows),
    Pass("argument-subqueries", _argument_subqueries),
    Pass("group-by", _groups),
    Pass("having", _having),
    Pass("over", _over),
    Pass("item-subqueries", _item_subqueries),
    Pass("qualify", _qualify),
    Pass("items", _items),
    Pass("distinct", _distinct),
    Pass("emit", _emit),
)
