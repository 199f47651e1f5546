"""Bound SELECTs as text, and what each pass of the planner makes of them.

A clause is a line, in the order in which SQL evaluates them.  Values that operators above the rows have to
compute are written with their numbers: `agg#0`, `over#0`, `subquery#0.1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.bound.pending import (
    AggregateValue,
    GroupingValue,
    RunningValue,
    SubqueryValue,
    replace_pending,
)
from fsql.compiler.bound.source_spans import SourceSpans
from fsql.compiler.explain.expressions import (
    aggregate_text,
    expression_text,
    labels,
    order_text,
    running_text,
)
from fsql.compiler.explain.literals import name_text
from fsql.compiler.explain.plan import plan_text
from fsql.compiler.expression import ColumnRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.bound.over import BoundOver
    from fsql.compiler.bound.select import BoundSelect, BoundSubquery
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import OrderKey, Plan
    from fsql.compiler.planner.select import PlannedSelect
    from fsql.compiler.text.source import SourceText


def bound_text(selects: Iterable[PlannedSelect], source: SourceText) -> str:
    """Return the SELECTs of a script as they are bound, those in FROM before the ones around them."""
    texts = [f"{_title(each, source)}\n{select_text(each.bound)}" for each in selects]
    return "\n".join(texts) or "no SELECT\n"


def passes_text(selects: Iterable[PlannedSelect], source: SourceText) -> str:
    """Return what each pass changes of each SELECT: the lines that go, the operators and lines that come."""
    texts: list[str] = []
    for each in selects:
        lines, before = [_title(each, source)], each.bound
        for name, after in each.steps:
            old, new = _clauses(before), _clauses(after)
            lines.append(name)
            lines += [f"  - {line}" for line in old if line not in new]
            if after.rows is not before.rows:
                added = plan_text(after.rows, given=before.rows)
                lines += [f"  + {line}" for line in added.splitlines()]
            lines += [f"  + {line}" for line in new if line not in old]
            before = after
        texts.append("\n".join(lines) + "\n")
    return "\n".join(texts) or "no SELECT\n"


def _title(select: PlannedSelect, source: SourceText) -> str:
    line, _ = source.line_column(select.bound.span.start)
    return f"SELECT; line {line}"


def select_text(select: BoundSelect, given: Plan | None = None) -> str:
    """Return the clauses of a bound SELECT, a line each, after the plan of its rows over those given."""
    rows = plan_text(select.rows, given=given).splitlines()
    lines = ["rows", *(f"  {line}" for line in rows)]
    if select.rows is given:
        lines = ["rows, unchanged"]
    lines += _clauses(select)
    return "\n".join(f"  {line}" for line in lines) + "\n"


def _clauses(select: BoundSelect) -> list[str]:
    """Return the clauses of a bound SELECT, a line each."""
    lines = [*_clause_lines(select, _Names(labels(select.rows.schema)))]
    if select.distinct:
        lines.append("distinct")
    if select.emit is not None:
        emit = "FINAL" if select.emit.final else "CHANGES"
        lines.append(f"emit {emit}{', which is possible' if select.can_emit else ''}")
    return lines


class _Names:
    """The names of the columns of rows, and of the placeholders in expressions over them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.all = [*columns]

    def text(self, expression: Expression) -> str:
        """Return an expression with its placeholders named."""
        return expression_text(self.named(expression), self.all)

    def named(self, expression: Expression) -> Expression:
        """Return an expression with a column for each placeholder."""
        return replace_pending(expression, self._column, SourceSpans())

    def _column(self, part: Expression) -> Expression | None:
        match part:
            case AggregateValue(index=index):
                name = f"agg#{index}"
            case RunningValue(index=index):
                name = f"over#{index}"
            case SubqueryValue(index=index, column=column):
                name = f"subquery#{index}.{column}"
            case GroupingValue(arguments=arguments):
                name = f"GROUPING({', '.join(map(self.text, arguments))})"
            case _:
                return None
        if name not in self.all:
            self.all.append(name)
        return ColumnRef(part.type, part.nullable, self.all.index(name))


def _clause_lines(select: BoundSelect, names: _Names) -> Iterator[str]:
    yield from _subquery_lines("in arguments", select.argument_subqueries, names)
    yield from _group_lines(select, names)
    yield from _subquery_lines("in having", select.having_subqueries, names)
    for condition in select.having.expressions:
        yield f"having {names.text(condition)}"
    yield from _subquery_lines("in over", select.over_subqueries, names)
    if select.over is not None:
        yield from _over_lines(select.over, names)
    yield from _subquery_lines("in select", select.item_subqueries, names)
    for condition in select.qualify.expressions:
        yield f"qualify {names.text(condition)}"
    items = zip(select.items.expressions, select.names, strict=True)
    yield f"select {', '.join(_named(names.text(value), name) for value, name in items)}"


def _named(text: str, name: str) -> str:
    return text if text == name_text(name) else f"{text} AS {name_text(name)}"


def _group_lines(select: BoundSelect, names: _Names) -> Iterator[str]:
    groups = select.groups
    if groups is None:
        return
    keys = groups.keys.keys
    if len(groups.keys.sets) == 1:
        yield f"group by {', '.join(_named(names.text(k.expression), k.name) for k in keys) or '()'}"
    else:
        yield "group by grouping sets " + ", ".join(
            f"({', '.join(names.text(k.expression) for k in keys if k.expression in one)})"
            for one in groups.keys.sets
        )
    groups = groups.rewrite(names.named, SourceSpans())
    for number, (call, name) in enumerate(
        zip(groups.aggregates, groups.aggregate_names, strict=True)
    ):
        yield f"agg#{number} = {aggregate_text(call, names.all)} AS {name_text(name)}"


def _over_lines(over: BoundOver, names: _Names) -> Iterator[str]:
    over = over.rewrite(names.named, SourceSpans())
    lines: dict[int, str] = {}
    for number, running in over.calls:
        call = aggregate_text(running.call.aggregate, names.all)
        shown = f"{call} of all rows" if running.whole else running_text(running.call, names.all)
        lines[number] = f"{shown}{_window_text(running.partition, running.keys, names)}"
    for number, rank, _ in over.ranks:
        lines[number] = f"{rank.function.value}(){_window_text(rank.partition, rank.order, names)}"
    for number, text in sorted(lines.items()):
        yield f"over#{number} = {text}"


def _window_text(partition: Sequence[Expression], order: Sequence[OrderKey], names: _Names) -> str:
    by = ", ".join(expression_text(key, names.all) for key in partition)
    ordered = ", ".join(order_text(key, names.all) for key in order)
    return (f" partition by {by}" if by else "") + (f" order by {ordered}" if ordered else "")


def _subquery_lines(
    where: str, subqueries: Sequence[BoundSubquery], names: _Names
) -> Iterator[str]:
    for number, each in enumerate(subqueries):
        inner = _Names(labels(each.rows.schema))
        keys = zip(each.outer_keys, each.keys, strict=True)
        by = " AND ".join(f"{names.text(outer)} = {inner.text(key)}" for outer, key in keys)
        yield f"subquery#{number} {where}, where {by}"
        yield from (f"  {line}" for line in plan_text(each.rows).splitlines())
