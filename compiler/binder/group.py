"""Which aggregate a GROUP BY is: one that closes with a window, or one that goes on for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Aggregate, Plan, WindowAggregate
from fsql.compiler.properties import Bound, WindowColumn, window_columns

if TYPE_CHECKING:
    from fsql.compiler.binder.items import Grouping
    from fsql.compiler.binder.report import Report
    from fsql.compiler.source import Span
    from fsql.compiler.syntax import Emit


def make_group(
    plan: Plan, grouping: Grouping, emit: Emit | None, written: tuple[str, Span], report: Report
) -> Plan:
    """Return the aggregate of `plan` by `grouping`, released as `emit` says.

    Grouping by a window's end makes it a window aggregate, which is final unless EMIT CHANGES.
    `written` is the clause that groups, and where it stands.

    Raises:
        Refusal: E305, E306.
    """
    clause, span = written
    columns = window_columns(plan)
    keyed = {
        key.index: column
        for key in grouping.keys
        if isinstance(key, ColumnRef) and (column := columns[key.index]) is not None
    }
    end = _window_end(plan, keyed)
    if end is None:
        _check_complete(plan, keyed, span, grouped=bool(grouping.keys))
    else:
        final = emit is None or emit.mode == "FINAL"
        return WindowAggregate(
            plan,
            grouping.keys,
            grouping.key_names,
            grouping.aggregates,
            grouping.aggregate_names,
            end,
            final,
        )
    refuse_final(emit)
    if grouping.keys:
        report.warn(
            Diagnostic(
                "W301",
                f"{clause} without a window keeps every group",
                Label(span),
                notes=("any group may change later",),
            )
        )
    return Aggregate(
        plan, grouping.keys, grouping.key_names, grouping.aggregates, grouping.aggregate_names
    )


def refuse_final(emit: Emit | None) -> None:
    """Refuse EMIT FINAL where there is no window.

    Raises:
        Refusal: E306.
    """
    if emit is not None and emit.mode == "FINAL":
        raise refusal(
            "E306",
            "EMIT FINAL without a window",
            emit.span,
            note="a result is final when its window closes",
            help="group by a window: GROUP BY …, TUMBLE(at, INTERVAL '1' MINUTE)",
        )


def _window_end(plan: Plan, keyed: dict[int, WindowColumn]) -> int | None:
    """Return the key that is the end of the window that closes the groups; None if none is.

    Of several it is that of the window assigned last.
    """
    ends = [
        (column.open, index)
        for index, column in keyed.items()
        if column.bound is Bound.END and plan.schema[index].time_attribute
    ]
    return max(ends)[1] if ends else None


def _check_complete(
    plan: Plan, keyed: dict[int, WindowColumn], span: Span, *, grouped: bool
) -> None:
    """Refuse groups of windowed rows that would not close with the window.

    Raises:
        Refusal: E305.
    """
    for index, column in enumerate(window_columns(plan)):
        if (
            column is not None
            and column.bound is Bound.END
            and plan.schema[index].time_attribute
            and (column.open or any(key.windows is column.windows for key in keyed.values()))
        ):
            raise refusal(
                "E305",
                "rows of a window are grouped without its end",
                span,
                note="a row comes once for each window, and its groups would never close",
                help=_complete_keys(keyed, grouped=grouped),
                quote=span,
            )


def _complete_keys(keyed: dict[int, WindowColumn], *, grouped: bool) -> str:
    """Return how to group by the window as well."""
    there = {column.bound for column in keyed.values()}
    missing = [bound.value for bound in (Bound.START, Bound.END) if bound not in there]
    return f"write GROUP BY {'…, ' if grouped else ''}{', '.join(missing)}"
