"""Aggregates that keep some values of a group.

TOPK(x, 3)                 →   ARRAY_SLICE(ARRAY_AGG(x ORDER BY x DESC) IGNORE NULLS, 1, 3)
TOPK(x, y, 3)              →   the same of STRUCT(sort_col := x, col0 := y), where x IS NOT NULL
LATEST_BY_OFFSET(x, 3)     →   ARRAY_SLICE(ARRAY_AGG(x) IGNORE NULLS, -3)
LATEST_BY_OFFSET(x, FALSE) →   LAST_VALUE(x) RESPECT NULLS
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.dialects.aggregates import called

VALUES_MAX: Final = 1_000
"""The greatest number of values of TOPK and the like, which are kept in one array."""
_ONLY_NUMBERED: Final = frozenset({"TOPK", "TOPKDISTINCT"})
_BY_OFFSET: Final = {"EARLIEST_BY_OFFSET": "FIRST_VALUE", "LATEST_BY_OFFSET": "LAST_VALUE"}


def some_values(written: syntax.FunctionCall) -> syntax.Expression | None:
    """Return TOPK or a function BY_OFFSET as a slice of all values; None without a number of values.

    Raises:
        Refusal: E401, E405.
    """
    name = written.name.parts[-1].name.upper()
    if name in _ONLY_NUMBERED:
        return _slice(written, name)
    if len(written.arguments) < 2:
        return None
    written = _with_nulls_as_told(written)
    if len(written.arguments) == 1:
        return called(written, _BY_OFFSET[name])
    return _slice(written, name)


def _with_nulls_as_told(written: syntax.FunctionCall) -> syntax.FunctionCall:
    """Return LATEST_BY_OFFSET(x, …, ignoreNulls) without its last argument, if that is TRUE or FALSE."""
    *others, last = written.arguments
    if not isinstance(last, syntax.BooleanLiteral):
        return written
    return replace(written, arguments=tuple(others), respect_nulls=not last.value)


def _number(written: syntax.Expression | syntax.Star) -> int:
    """Return the number that a literal stands for; 0 for other expressions and large numbers."""
    text = written.text if isinstance(written, syntax.NumberLiteral) else ""
    return int(text) if text.isdigit() and len(text) <= len(str(VALUES_MAX)) else 0


def _slice(written: syntax.FunctionCall, name: str) -> syntax.FunctionCall:
    """Return TOPK(x, n) or a similar call as a slice of all values."""
    if len(written.arguments) < 2 or any(isinstance(a, syntax.Star) for a in written.arguments):
        raise refusal(
            "E401", f"{name} takes a value and a number", written.span, help=f"write {name}(x, 3)"
        )
    value, *others, count = (a for a in written.arguments if not isinstance(a, syntax.Star))
    if others and name != "TOPK":
        raise refusal(
            "E401", f"{name} takes a value and a number", written.span, help=f"write {name}(x, 3)"
        )
    number = _number(count)
    if not 1 <= number <= VALUES_MAX:
        which = "last" if others else "second"
        raise refusal(
            "E405",
            f"the {which} argument of {name} must be a literal from 1 to {VALUES_MAX:,}",
            count.span,
            help=f"write {name}(x, {'y, ' if others else ''}3)",
        )
    order: tuple[syntax.OrderItem, ...] = written.order_by
    if name in _ONLY_NUMBERED:
        order = (syntax.OrderItem(value.span, value, descending=True, nulls_first=None),)
    collected = replace(
        called(written, "ARRAY_AGG"),
        arguments=(value,),
        distinct=written.distinct or name == "TOPKDISTINCT",
        order_by=order,
        ignore_nulls=not written.respect_nulls,
        respect_nulls=False,
    )
    if others:
        collected = _with_columns(collected, value, others)
    text = str(number)
    bounds: tuple[syntax.Expression, ...] = (
        syntax.NumberLiteral(count.span, "1"),
        syntax.NumberLiteral(count.span, text),
    )
    if name == "LATEST_BY_OFFSET":
        bounds = (syntax.Unary(count.span, "-", syntax.NumberLiteral(count.span, text)),)
    return syntax.FunctionCall.of(written.span, "ARRAY_SLICE", collected, *bounds)


def _with_columns(
    collected: syntax.FunctionCall, value: syntax.Expression, others: list[syntax.Expression]
) -> syntax.FunctionCall:
    """Return the call with rows of the value and others, in rows where the value is not NULL."""
    span = value.span
    names = ["sort_col", *(f"col{index}" for index in range(len(others)))]
    row = syntax.RowConstructor(
        span, (value, *others), tuple(syntax.Identifier(span, name) for name in names)
    )
    known: syntax.Expression = syntax.Is(span, value, "NULL", negated=True)
    if collected.filter is not None:
        known = syntax.Logical(span, "AND", (collected.filter, known))
    return replace(collected, arguments=(row,), filter=known, ignore_nulls=False)
