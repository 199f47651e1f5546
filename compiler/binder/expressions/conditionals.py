"""CASE and CAST."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.literals import (
    bind_literal,
    escaped_octets,
    interval_of_words,
    number_text,
)
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.expressions.predicates import compare
from fsql.compiler.binder.expressions.type_names import (
    DOCUMENT_TYPES,
    PADDED,
    bind_type,
    length_inside,
    text_length,
)
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import Call, Expression, Literal, TryCast
from fsql.compiler.functions.calls import call, make_call, make_case, make_cast
from fsql.compiler.functions.casts import cast_fallible, castable
from fsql.compiler.functions.decimals import parse_decimal
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.json_functions import DOCUMENTS
from fsql.compiler.sqltypes import (
    BIGINT,
    BYTES,
    INTEGER_RANGES,
    NULL,
    NUMERIC,
    STRING,
    Kind,
    SqlType,
    fields_one_by_one,
    moves_fields,
)

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.text.source import Span


_NO_COMMON_RESULT = "results of CASE are {} and {}"


def bind_case(binder: ClauseBinder, case: syntax.Case) -> Expression:
    """Bind both forms of CASE; the results are coerced to their common type."""
    conditions = _conditions(binder, case)
    results: list[tuple[Expression, Span]] = []
    for branch in case.branches:
        results += [(binder.bind(branch.result), branch.result.span)] * len(branch.conditions)
    if case.otherwise is None:
        results.append((Literal(NULL, nullable=True, value=None), case.span))
    else:
        results.append((binder.bind(case.otherwise), case.otherwise.span))
    *taken, otherwise = unify(results, _NO_COMMON_RESULT)
    return make_case(list(zip(conditions, taken, strict=True)), otherwise)


def _conditions(binder: ClauseBinder, case: syntax.Case) -> list[Expression]:
    written = [condition for branch in case.branches for condition in branch.conditions]
    if case.operand is None:
        return [binder.bind_condition(condition) for condition in written]
    operand = binder.bind(case.operand), case.operand.span
    return [
        compare("=", operand, (binder.bind(condition), condition.span)) for condition in written
    ]


def bind_cast(binder: ClauseBinder, cast: syntax.Cast) -> Expression:
    """Bind CAST and TRY_CAST; a cast to VARCHAR(n) cuts the text, a cast to CHAR(n) also pads it."""
    words = cast.type.name.split(" ")
    if isinstance(cast.operand, syntax.StringLiteral):
        if words[0] == "INTERVAL":
            return bind_literal(interval_of_words(cast.operand, words[1:], cast.span), binder.zone)
        if words[0] == "BYTEA" and "\\" in cast.operand.value:
            return escaped_octets(cast.operand.value, cast.operand.span)
    operand = _untyped(cast, binder.zone) or binder.bind(cast.operand)
    return _exact(operand, cast, binder.zone) or cast_bound(operand, cast, binder.zone)


def _untyped(cast: syntax.Cast, zone: str) -> Expression | None:
    """Return an empty ARRAY or MAP, or an ARRAY of NULLs, with the type of its cast; None for others."""
    operand = cast.operand
    if not isinstance(operand, syntax.ArrayConstructor | syntax.MapConstructor):
        return None
    wanted = Kind.ARRAY if isinstance(operand, syntax.ArrayConstructor) else Kind.MAP
    nulls = all(isinstance(item, syntax.NullLiteral) for item in operand.items)
    if not nulls or (wanted is Kind.MAP and operand.items):
        return None
    target = bind_type(cast.type, zone)
    value = (None,) * len(operand.items)
    return Literal(target, nullable=False, value=value) if target.kind is wanted else None


def _exact(operand: Expression, cast: syntax.Cast, zone: str) -> Expression | None:
    """Return the DECIMAL of a number that has more digits than a DOUBLE, None for any other operand."""
    if not isinstance(operand, Literal) or not isinstance(operand.value, float):
        return None
    text = number_text(cast.operand)
    if text is None or Decimal(text) == Decimal(repr(operand.value)):
        return None
    target = bind_type(cast.type, zone)
    if target.kind is not Kind.DECIMAL:
        return None
    try:
        return Literal(target, nullable=False, value=parse_decimal(text, target))
    except RowFailure:
        return None


def cast_bound(operand: Expression, cast: syntax.Cast, zone: str) -> Expression:
    """Return a cast whose operand is bound.

    Raises:
        Refusal: E206, E208, E301.
    """
    if cast.type.name in DOCUMENT_TYPES and not cast.type.numbers:
        return _document(operand, cast)
    target = bind_type(cast.type, zone)
    inside = length_inside(cast.type)
    if inside is not None:
        raise not_implemented(
            f"the length of {inside.name} inside a type of CAST",
            inside.span,
            help="use STRING, and cast the parts",
        )
    if not castable(operand.type, target):
        raise refusal(
            "E208",
            f"cannot cast {operand.type} to {target}",
            cast.operand.span,
            f"this is {operand.type}",
            help=_alternative(operand.type, target),
            quote=cast.operand.span,
        )
    if cast.safe and cast_fallible(operand.type, target):
        made: Expression = TryCast(target, nullable=True, argument=operand)
    else:
        made = make_cast(operand, target)
    return with_length(made, cast.type)


def _document(operand: Expression, cast: syntax.Cast) -> Expression:
    """Return a cast to JSON: a text must be a document, any other value becomes one."""
    if operand.type.kind is Kind.NULL or (
        isinstance(operand, Call) and operand.function in DOCUMENTS
    ):
        return make_cast(operand, STRING)
    if operand.type == STRING:
        if cast.safe:
            return call("json_extract", operand, Literal(STRING, nullable=False, value="$"))
        return call("json_document", operand)
    made = make_call("json_string", operand)
    if made is None:
        raise refusal(
            "E208",
            f"cannot cast {operand.type} to JSON",
            cast.operand.span,
            f"this is {operand.type}",
        )
    return made


def with_length(made: Expression, type_: syntax.TypeName) -> Expression:
    """Return a text with the length that its type states, if it does."""
    length = text_length(type_)
    if length is None:
        return made
    characters = Literal(BIGINT, nullable=False, value=length)
    if type_.name in PADDED:
        return call("pad_bytes" if made.type == BYTES else "rpad", made, characters)
    return call("substring", made, Literal(BIGINT, nullable=False, value=1), characters)


def _alternative(source: SqlType, target: SqlType) -> str | None:  # noqa: PLR0911 - one a pair
    match source.kind, target.kind:
        case Kind.TIMESTAMP, number if number in NUMERIC:
            return "use EPOCH_MILLIS(…), the milliseconds since 1970"
        case integer, Kind.TIMESTAMP if integer in INTEGER_RANGES:
            made = "TO_TIMESTAMP_LTZ(…, 3)" if target.zone else "TIMESTAMP_MILLIS(…)"
            return f"use {made}, of milliseconds since 1970"
        case Kind.TIME, number if number in NUMERIC:
            return "use EPOCH_MILLIS(CAST(… AS TIMESTAMP)), the milliseconds since midnight"
        case Kind.STRING, Kind.INTERVAL | Kind.MONTHS:
            return "only a literal is read as an INTERVAL; multiply one by a number: n * INTERVAL '1' MINUTE"
        case Kind.DATE, integer if integer in INTEGER_RANGES:
            return "subtract a date: … - DATE '1970-01-01' is the number of days since 1970"
        case number, Kind.BOOLEAN if number in NUMERIC:
            return "compare it: … <> 0"
        case Kind.BOOLEAN, number if number in NUMERIC:
            return "choose the numbers: CASE WHEN … THEN 1 ELSE 0 END"
        case Kind.ROW, Kind.ROW if len(source.fields) == len(target.fields):
            return fields_one_by_one(source, target) if moves_fields(source, target) else None
        case _:
            return None
