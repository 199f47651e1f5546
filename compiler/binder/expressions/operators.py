"""Operators of numbers: arithmetic and bits; their types, and the functions that construct calls.

Chains of AND, OR and `||`, which can be long, become balanced trees.  All three are associative, even with
regard to the operands that they evaluate and the failure that is reported.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypedDict

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.literals import bind_number
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.diagnostics import Label
from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import make_call
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.coercion import (
    OF_QUOTED,
    accepts,
    aligns,
    coerce,
    coercible,
    common_type,
    constructs_array,
    constructs_map,
    exact_literals,
)
from fsql.compiler.sqltypes import (
    CLOCK_TIMES,
    DAY_US,
    INTEGER_RANGES,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    Kind,
    SqlType,
    fields_one_by_one,
    same_names,
)
from fsql.compiler.text.source import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder

    Placed = tuple[Expression, Span]


_ARITHMETIC: Final[Mapping[str, str]] = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "modulo",
    "^": "power",
    "&": "bitand",
    "|": "bitor",
    "#": "bitxor",
    "<<": "shiftleft",
    ">>": "shiftright",
}


def unify(
    operands: Sequence[tuple[Expression, Span]],
    refused_as: str = "cannot compare {} with {}",
    *,
    compared: bool = False,
) -> list[Expression]:
    """Return the operands coerced to their common type.

    If they are only `compared`, their types may differ: in digits of fraction, as TIMESTAMP(3) and TIMESTAMP;
    and numbers for which no DECIMAL has the values of all are compared as they are.

    Raises:
        Refusal: E206 if there is none, E215 for text that cannot be read as the expected time.
    """
    exact = exact_literals([expression for expression, _ in operands])
    operands = [(each, span) for each, (_, span) in zip(exact, operands, strict=True)]
    expected = _expected_type(operands)
    common = NULL
    _, common_span = operands[0]
    for expression, span in operands:
        wider = common_type([common, _counts_as(expression, expected)])
        if wider is None:
            raise refusal(
                "E206",
                refused_as.format(common, expression.type),
                span,
                f"this is {expression.type}",
                secondary=(Label(common_span, f"this is {common}"),),
                **_help_for_types(operands, (common, common_span), (expression.type, span)),
            )
        if wider != common:
            common, common_span = wider, span
    if compared:
        common = common.without_fraction
        if common.kind is Kind.DECIMAL and not all(
            coercible(each.type, common) for each, _ in operands
        ):
            return [each for each, _ in operands]
    for expression, span in operands:
        if not (accepts(expression, common) or aligns(expression.type, common)):
            raise _unreadable(expression, common, span)
    alike = compared and common.contains(*CLOCK_TIMES)
    return [
        each if alike and each.type.without_fraction == common else coerce(each, common)
        for each, _ in operands
    ]


def _expected_type(operands: Sequence[tuple[Expression, Span]]) -> SqlType | None:
    """Return the operand type to which quoted text and constructors are coerced: a time, ARRAY or MAP."""
    for expression, _ in operands:
        kinds = {*OF_QUOTED, Kind.ARRAY, Kind.MAP}
        if expression.type.kind in kinds and not _is_convertible(expression):
            return expression.type
    return None


def _counts_as(expression: Expression, expected: SqlType | None) -> SqlType:
    """Return the type of an operand after coercion to `expected_text`; refuse text that is not a time."""
    if expected is None or not _is_convertible(expression):
        return expression.type
    quoted_time = expected.kind in OF_QUOTED and expression.type == STRING
    return expected if quoted_time or accepts(expression, expected) else expression.type


def _is_convertible(expression: Expression) -> bool:
    """Return whether the expression is quoted text, `ARRAY[…]` or `MAP[…]`, coerced to an expected type."""
    quoted = isinstance(expression, Literal) and expression.type == STRING
    constructed = constructs_array(expression) or constructs_map(expression, expression.type)
    return quoted or constructed


def _unreadable(expression: Expression, target: SqlType, span: Span) -> Refusal:
    assert isinstance(expression, Literal)
    form = "'23:59:59'" if target.kind is Kind.TIME else "'2024-01-31'"
    if target.kind is Kind.TIMESTAMP:
        form = "'2024-01-31 23:59:59', with up to 6 digits of fraction"
    return refusal(
        "E215",
        f"cannot read {json.dumps(expression.value, ensure_ascii=False)} as {target}",
        span,
        help=f"write it as {form}",
    )


_NUMBER: Final = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?", re.ASCII)


class _Help(TypedDict, total=False):
    help: str
    quote: Span


def _help_for_types(
    operands: Sequence[tuple[Expression, Span]],
    left: tuple[SqlType, Span],
    right: tuple[SqlType, Span],
) -> _Help:
    """Return the help that makes the two types compatible."""
    numeric = any(each.numeric for each, _ in (left, right))
    for operand, span in operands:
        if numeric and span in {left[1], right[1]} and _is_quoted_number(operand):
            assert isinstance(operand, Literal)
            return {"help": f"write the number without quotes: {operand.value}"}
    for (time, _), (number, span) in ((left, right), (right, left)):
        if time.kind is Kind.TIMESTAMP and number.kind in INTEGER_RANGES:
            return {
                "help": "convert it: TIMESTAMP_SECONDS(…), or TIMESTAMP_MILLIS(…)",
                "quote": span,
            }
    return _cast_help(left, right)


def _is_quoted_number(expression: Expression) -> bool:
    return isinstance(expression, Literal) and bool(
        isinstance(expression.value, str) and _NUMBER.fullmatch(expression.value)
    )


def _cast_help(left: tuple[SqlType, Span], right: tuple[SqlType, Span]) -> _Help:
    """Return the cast that makes the two types compatible, or the row without names, if there is one."""
    (one, _), (other, span) = left, right
    if other.fields and len(one.fields) == len(other.fields) and not same_names(one, other):
        return {"help": fields_one_by_one(other, one), "quote": span}
    for (source, span), (target, _) in ((left, right), (right, left)):
        if target.kind is Kind.STRING and castable(source, target):
            return {"help": f"cast the {source}: CAST(… AS STRING)", "quote": span}
    return {}


def bind_unary(binder: ClauseBinder, unary: syntax.Unary) -> Expression:
    """Bind `-a`, `+a` and `~a`; the sign of a number literal is part of it."""
    if unary.operator == "-" and isinstance(unary.operand, syntax.NumberLiteral):
        return bind_number(unary.operand, negative=True)
    operand = binder.bind(unary.operand)
    made = make_call("bitnot" if unary.operator == "~" else "negate", operand)
    if made is None:
        raise refusal(
            "E206",
            f'operator "{unary.operator}" does not take {operand.type}',
            unary.operand.span,
            f"this is {operand.type}",
        )
    return operand if unary.operator == "+" else made


def bind_arithmetic(binder: ClauseBinder, chain: syntax.Chain) -> Expression:
    """Bind the links of `a + b - c`, from the left."""
    made, span = binder.bind(chain.first), chain.first.span
    for link in chain.links:
        made = bind_link(link, made, binder.bind(link.operand), span)
        span = span.to(link.operand.span)
        # Brackets around an operand are not in its span.
        binder.source_spans.add(made, Span(chain.span.start, link.span.end))
    return made


def bind_link(
    link: syntax.ChainLink, left: Expression, right: Expression, left_span: Span
) -> Expression:
    """Bind an operator of numbers to its operands.

    Raises:
        Refusal: E206.
    """
    made = make_call(_ARITHMETIC[link.operator], left, right)
    if made is None and link.operator in {"+", "*"}:
        # The table of functions only has TIMESTAMP + INTERVAL and INTERVAL * BIGINT.
        made = make_call(_ARITHMETIC[link.operator], right, left)
    kinds = {left.type.kind, right.type.kind}
    if made is None and link.operator == "+" and Kind.STRING in kinds <= {Kind.STRING, Kind.NULL}:
        made = make_call("concat", left, right)  # of texts
    if made is None:
        made = _days_later(link.operator, left, right) or _scaled(link.operator, left, right)
    if made is not None and made.type.kind is Kind.DATE:
        _check_days((left, left_span), (right, link.operand.span))
    if made is None:
        raise refusal(
            "E206",
            f'operator "{link.operator}" does not take {left.type} and {right.type}',
            link.span,
            secondary=(
                Label(left_span, f"this is {left.type}"),
                Label(link.operand.span, f"this is {right.type}"),
            ),
            help=_arithmetic_help(link.operator, left.type, right.type),
        )
    return made


def _days_later(operator: str, left: Expression, right: Expression) -> Expression | None:
    """Return a DATE plus or minus a number of days; None for other operands."""
    if operator == "+" and right.type.kind is Kind.DATE:
        left, right = right, left
    of_days = left.type.kind is Kind.DATE and right.type.kind in INTEGER_RANGES
    if operator not in {"+", "-"} or not of_days:
        return None
    days = make_call("multiply", Literal(INTERVAL, nullable=False, value=DAY_US), right)
    return days and make_call(_ARITHMETIC[operator], left, days)


def _scaled(operator: str, left: Expression, right: Expression) -> Expression | None:
    """Return an INTERVAL times or by a number, to the nearest microsecond; None for other operands."""
    if operator == "*" and right.type == INTERVAL:
        left, right = right, left
    if operator not in {"*", "/"} or left.type != INTERVAL or not right.type.numeric:
        return None
    name = "multiply_interval" if operator == "*" else "divide_interval"
    return make_call(name, left, right)


def _arithmetic_help(operator: str, left: SqlType, right: SqlType) -> str | None:
    if operator in {"+", "-"} and left.kind in {Kind.DATE, Kind.TIMESTAMP} and right == STRING:
        return "write INTERVAL before the text: INTERVAL '1 day'"
    if operator == "+" and STRING in {left, right}:
        return "join text with ||"
    if operator in {"+", "-"} and left.kind in {Kind.DATE, Kind.TIMESTAMP} and right.numeric:
        return "write an interval: INTERVAL '1' DAY"
    if operator in {"*", "/"} and MONTHS in {left, right}:
        return "a part of a month has no fixed length; write days: INTERVAL '30' DAY"
    return None


def _check_days(*operands: tuple[Expression, Span]) -> None:
    """Refuse to move a DATE by an interval that is not of whole days, which a DATE cannot represent."""
    for operand, span in operands:
        if operand.type == INTERVAL and isinstance(operand, Literal):
            assert isinstance(operand.value, int)
            if operand.value % DAY_US:
                raise refusal(
                    "E206",
                    "a DATE is moved by whole days only",
                    span,
                    "this is not a number of days",
                    help="cast the DATE: CAST(… AS TIMESTAMP)",
                )
