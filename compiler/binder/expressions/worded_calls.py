"""Calls with keywords among their arguments: EXTRACT, FLOOR … TO, TRIM; arrays and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.array_calls import check_position
from fsql.compiler.binder.expressions.call_arguments import argument_error
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Case, Literal
from fsql.compiler.functions.calendar_fields import (
    FIELDS,
    FIELDS_OF_DAYS,
    FIELDS_OF_MONTHS,
    WEEKDAYS,
)
from fsql.compiler.functions.calls import call, make_call, make_cast
from fsql.compiler.functions.date_arithmetic import has_whole_days, unit_of
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import BIGINT, STRING, STRUCTURED, TIMESTAMP, Kind

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


_FRACTIONS: Final = {
    "MILLISECOND": "write PMOD(EPOCH_MILLIS(t), 1000), or 60000 to have the seconds in it",
    "MICROSECOND": "write PMOD(EPOCH_MICROS(t), 1000000), or 60000000 to have the seconds in it",
    "NANOSECOND": "times have microseconds: write PMOD(EPOCH_MICROS(t), 1000000) * 1000",
}
"""What is written for fields that are parts of a second here, and contain the seconds elsewhere."""


_DECADE: Final = 10
_YEARS: Final = {"DECADE": _DECADE, "CENTURY": 100, "MILLENNIUM": 1000}
_OF_DAYS: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_ONE: Final = Literal(BIGINT, nullable=False, value=1)


def bind_extract(binder: ClauseBinder, written: syntax.Extract) -> Expression:
    """Bind `EXTRACT(YEAR FROM t)`: YEAR(t)."""
    if written.unit not in FIELDS:
        raise refusal(
            "E405",
            f"a field of EXTRACT is {', '.join(FIELDS)}",
            written.span,
            help=_FRACTIONS.get(written.unit.removesuffix("S"))
            or ("write ISODOW, from Monday, 1" if written.unit in WEEKDAYS else None),
        )
    name = FIELDS[written.unit]
    operand = binder.bind(written.operand)
    if operand.type.kind in {Kind.INTERVAL, Kind.MONTHS}:
        check_field(written.unit, operand.type.kind, written.span)
        return call("date_part", Literal(STRING, nullable=False, value=written.unit), operand)
    made = make_call(name, operand)
    if made is None:
        raise argument_error(FUNCTIONS[name], "EXTRACT", [operand], written.span)
    return made


def check_field(field: str, kind: Kind, span: Span) -> None:
    """Check a field of an INTERVAL.

    Raises:
        Refusal: E405 if intervals of this kind do not have it.
    """
    fields = FIELDS_OF_MONTHS if kind is Kind.MONTHS else FIELDS_OF_DAYS
    if field not in fields:
        of = "months" if kind is Kind.MONTHS else "days and seconds"
        raise refusal("E405", f"a field of an INTERVAL of {of} is {', '.join(fields)}", span)


def bind_round_time(binder: ClauseBinder, written: syntax.RoundTime) -> Expression:
    """Bind `FLOOR(t TO unit)` and `CEIL(t TO unit)`; the result of a DATE is a DATE, of a TIME a TIME."""
    name = "date_trunc" if written.direction == "FLOOR" else "date_ceil"
    operand = binder.bind(written.operand)
    if written.unit in _YEARS and operand.type.kind in _OF_DAYS and not operand.type.zone:
        return _to_years(operand, _YEARS[written.unit], ceil=written.direction == "CEIL")
    unit = Literal(STRING, nullable=False, value=unit_of(written.unit))
    of_time = operand.type.kind is Kind.TIME
    if of_time and (written.unit in _YEARS or has_whole_days(unit_of(written.unit))):
        raise refusal("E405", f"a TIME has no {written.unit.lower()}", written.span)
    made = None
    if written.unit not in _YEARS:
        made = make_call(name, unit, make_cast(operand, TIMESTAMP) if of_time else operand)
    if made is None:
        raise refusal(
            "E206",
            f"{written.direction} … TO does not take {operand.type}",
            written.operand.span,
            f"this is {operand.type}",
        )
    return make_cast(made, operand.type) if operand.type.kind in {Kind.DATE, Kind.TIME} else made


def _to_years(operand: Expression, years: int, *, ceil: bool) -> Expression:
    """Return the first day of the decade, century or millennium, or of the next one.

    The third millennium begins in 2001, and the decade of the twenties in 2020.
    """
    first = call("year", operand)
    before = years > _DECADE  # Centuries and millennia begin in a year that ends with 1.
    if before:
        first = call("subtract", first, _ONE)
    first = call("subtract", first, call("pmod", first, _years(years)))
    begins, ends = (
        make_cast(call("make_date", call("add", first, _years(each)), _ONE, _ONE), operand.type)
        for each in (int(before), years + before)
    )
    if not ceil:
        return begins
    is_first = call("eq", operand, begins)
    return Case(operand.type, begins.nullable, branches=((is_first, begins),), otherwise=ends)


def _years(number: int) -> Literal:
    return Literal(BIGINT, nullable=False, value=int(number))


def bind_array(binder: ClauseBinder, array: syntax.ArrayConstructor) -> Expression:
    """Bind `ARRAY[a, b]`."""
    if not array.items:
        raise refusal(
            "E206",
            "the empty array has no type",
            array.span,
            help="cast it: CAST(ARRAY[] AS ARRAY<STRING>)",
        )
    elements = unify(
        [(binder.bind(item), item.span) for item in array.items], "elements are {} and {}"
    )
    if elements[0].type.kind is Kind.NULL:
        raise refusal(
            "E206",
            "an array of NULLs has no type",
            array.span,
            help="cast one of them: CAST(NULL AS STRING)",
        )
    return call("array", *elements)


def bind_map(binder: ClauseBinder, written: syntax.MapConstructor) -> Expression:
    """Bind `MAP['a', 1, 'b', 2]`: the map made of an array of entries."""
    if not written.items:
        raise refusal("E206", "the empty map has no type", written.span)
    if len(written.items) % 2:
        raise refusal(
            "E206",
            "last key of the map has no value",
            written.items[-1].span,
            help="write keys and values in turn: MAP['a', 1, 'b', 2]",
        )
    bound = [(binder.bind(item), item.span) for item in written.items]
    keys, values = (
        unify(bound[first::2], f"{part} of the map are {{}} and {{}}")
        for first, part in enumerate(("keys", "values"))
    )
    for parts, part, type_ in ((keys, "key", "STRING"), (values, "value", "BIGINT")):
        if parts[0].type.kind is Kind.NULL:
            raise refusal(
                "E206",
                f"a map of which every {part} is NULL has no type",
                written.span,
                help="keys cannot be NULL"
                if part == "key"
                else f"cast one of them: CAST(NULL AS {type_})",
            )
    if keys[0].type.kind in STRUCTURED:
        raise refusal("E206", f"key of a MAP cannot be {keys[0].type}", written.items[0].span)
    entries = call("array", *(call("row", *entry) for entry in zip(keys, values, strict=True)))
    return call("map_from_entries", entries)


def bind_subscript(binder: ClauseBinder, subscript: syntax.Subscript) -> Expression:
    """Bind `a[i]`: the element at an ordinal from 1, or the value of a key; NULL if it does not exist."""
    operand, index = binder.bind(subscript.operand), binder.bind(subscript.index)
    if operand.type.kind not in {Kind.ARRAY, Kind.MAP}:
        raise refusal(
            "E218",
            f"value must be an ARRAY or MAP, not {operand.type}",
            subscript.operand.span,
            f"this is {operand.type}",
        )
    check_position(operand, index, subscript.index.span)
    made = make_call("element_at", operand, index)
    if made is None:
        raise refusal(
            "E206",
            f"subscript must be {operand.type.key}, not {index.type}"
            if operand.type.kind is Kind.MAP
            else f"subscript must be BIGINT, not {index.type}",
            subscript.index.span,
            f"this is {index.type}",
        )
    return made


def bind_trim(binder: ClauseBinder, trim: syntax.Trim) -> Expression:
    """Bind `TRIM(LEADING 'x' FROM s)`."""
    name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[trim.side]
    operands = [binder.bind(trim.operand)]
    if trim.characters not in {None, syntax.StringLiteral(trim.span, " ")}:
        assert trim.characters is not None
        operands.append(binder.bind(trim.characters))
    made = make_call(name, *operands)
    if made is None:
        raise argument_error(FUNCTIONS[name], "TRIM", operands, trim.span)
    return made
