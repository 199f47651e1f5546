"""Ranks: `ROW_NUMBER() OVER (PARTITION BY k ORDER BY x)`, and the rows that ORDER BY … LIMIT keeps.

Ranks partitioned by the bounds of a window are final when it closes, unless EMIT CHANGES is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.analysis.properties import window_columns
from fsql.compiler.binder.aggregates.group import (
    check_windowed,
    complete_window_keys,
    window_end_among,
)
from fsql.compiler.binder.report import refusal
from fsql.compiler.logical import OrderKey, Plan, Rank, RankFunction
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.expressions.expression import ExpressionBinder
    from fsql.compiler.expression import Expression
    from fsql.compiler.syntax import Emit
    from fsql.compiler.text.source import Span


class Ordering(NamedTuple):
    """A partition, and any order of its rows."""

    partition: tuple[Expression, ...]
    keys: tuple[OrderKey, ...]

    def then(self, keys: tuple[OrderKey, ...]) -> Ordering:
        """Return the ordering in which equal rows are ordered by more keys."""
        return Ordering(self.partition, self.keys + keys)


@dataclass(frozen=True, slots=True)
class RankCall:
    """One ranking of a SELECT; `span` is where it was first written."""

    function: RankFunction
    partition: tuple[Expression, ...]
    order: tuple[OrderKey, ...]

    @property
    def ordering(self) -> Ordering:
        """Return the partition and the order."""
        return Ordering(self.partition, self.order)

    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions by which rows are partitioned and ordered."""
        yield from self.partition
        yield from (key.expression for key in self.order)

    def rewrite(self, carry: Callable[[Expression], Expression]) -> RankCall:
        """Return the call with its expressions rewritten."""
        partition = tuple(carry(key) for key in self.partition)
        order = tuple(
            OrderKey(carry(key.expression), key.descending, key.nulls_first) for key in self.order
        )
        return RankCall(self.function, partition, order)


def bind_order(binder: ExpressionBinder, items: Sequence[syntax.OrderItem]) -> tuple[OrderKey, ...]:
    """Return the keys of an ORDER BY; by default NULL is last if ascending, and first if descending.

    Raises:
        Refusal: E2xx to E4xx.
    """
    return tuple(order_key(binder.bind_and_check_size(item.expression), item) for item in items)


def order_key(expression: Expression, item: syntax.OrderItem) -> OrderKey:
    """Return the key of an ORDER BY for a bound expression."""
    first = item.descending if item.nulls_first is None else item.nulls_first
    return OrderKey(expression, item.descending, first)


def check_rank_call(written: syntax.FunctionCall, window: syntax.WindowSpecification) -> None:
    """Check the clauses of a ranking function.

    Raises:
        Refusal: E401, E404.
    """
    name = written.name.parts[-1].name.upper()
    if written.arguments:
        raise refusal("E401", f"function {name} takes no arguments", written.span)
    refuse_frame(name, window)
    if not window.order_by and name != "ROW_NUMBER":
        raise refusal(
            "E404",
            f"function {name} requires ORDER BY",
            written.span,
            help=f"write {name}() OVER (… ORDER BY …)",
        )


def refuse_frame(name: str, window: syntax.WindowSpecification) -> None:
    """Check that no frame is given.

    Raises:
        Refusal: E404.
    """
    if window.frame is not None:
        raise refusal(
            "E404",
            f"function {name} takes no frame",
            window.frame.span,
            help="remove the frame",
        )


def windowed_partition(plan: Plan, partition: tuple[Expression, ...]) -> bool:
    """Return whether a partition is by a window that closes."""
    return window_end_among(plan, complete_window_keys(plan, partition)) is not None


def rank(plan: Plan, call: RankCall, name: str | None, emit: Emit | None, span: Span) -> Plan:
    """Return the ranks of the rows of `plan`, released according to `emit`.

    Raises:
        Refusal: E305, if they are in windows and not ranked by window.
    """
    partition = complete_window_keys(plan, call.partition)
    end = window_end_among(plan, partition)
    if end is None:
        check_windowed(plan, window_columns(plan), span, clause="PARTITION BY")
    if end is None or (emit is not None and emit.mode != "FINAL"):
        return Rank(plan, partition, call.order, call.function, name, window_end=end)
    return Rank(
        plan,
        partition,
        call.order,
        call.function,
        name,
        window_end=end,
        final=True,
        window_times=tuple(_other_times(plan, end)),
    )


def _other_times(plan: Plan, window_end: int) -> Iterator[int]:
    """Yield the other columns that are the end or the time of the window, and event time."""
    columns = window_columns(plan)
    window = columns[window_end]
    for index, (column, below) in enumerate(zip(columns, plan.schema, strict=True)):
        same = column is not None and window is not None and column.windows is window.windows
        if same and below.time_attribute and index != window_end:
            yield index
