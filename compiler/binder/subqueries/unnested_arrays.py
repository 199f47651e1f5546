"""The arrays of UNNEST, one or several in parallel, and of GENERATE_SERIES.

If there are several, the elements at one index become a row, with NULL for shorter arrays:

    UNNEST(a, b)   →   UNNEST(TRANSFORM(SEQUENCE(1, n, 1), i -> ROW(a[i], b[i]))), n the greatest length

A series of times is one of microseconds since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.time_zone import in_zone, utc_to_instant
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import (
    Call,
    Cast,
    ColumnRef,
    LambdaBody,
    LambdaCall,
    LambdaFunction,
    Literal,
)
from fsql.compiler.functions.calls import call, make_call
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.sqltypes import BIGINT, INTERVAL, Kind, array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


SERIES: Final = "GENERATE_SERIES"

_ZERO: Final = Literal(BIGINT, nullable=False, value=0)
_ONE: Final = Literal(BIGINT, nullable=False, value=1)


def bind_arrays(binder: ClauseBinder, unnest: syntax.Unnest) -> Expression:
    """Return the array whose elements UNNEST returns.

    Raises:
        Refusal: E2xx to E4xx.
    """
    arrays = [_bind_array(binder, each) for each in (unnest.array, *unnest.others)]
    if len(arrays) == 1 and not (unnest.whole and _of_rows(arrays[0])):
        return arrays[0]
    lengths = [call("coalesce", call("cardinality", array), _ZERO) for array in arrays]
    indexes = call("sequence", _ONE, call("greatest", *lengths), _ONE)
    binder.source_spans.add(indexes, unnest.span)
    return _side_by_side(indexes, arrays)


def number_elements(array: Expression, binder: ClauseBinder, span: Span) -> Expression:
    """Return the array of rows that consist of an element and its position, from 1."""
    length = call("coalesce", call("cardinality", array), _ZERO)
    indexes = call("sequence", _ONE, length, _ONE)
    binder.source_spans.add(indexes, span)
    return _side_by_side(indexes, [array, indexes])


def _of_rows(array: Expression) -> bool:
    """Return whether the elements are rows, and not entries of a map."""
    of_entries = isinstance(array, Call) and array.function == "map_entries"
    return bool(array.type.element and array.type.element.fields) and not of_entries


def _side_by_side(indexes: Expression, arrays: Sequence[Expression]) -> Expression:
    """Return the array of rows that consist of the elements at each index."""
    index = ColumnRef(BIGINT, nullable=True, index=0)
    elements = [
        call("element_at", ColumnRef(array.type, nullable=True, index=1 + place), index)
        for place, array in enumerate(arrays)
    ]
    row = row_of((f"column{number}", each.type) for number, each in enumerate(elements, 1))
    body = LambdaBody(Cast(row, nullable=False, argument=call("row", *elements)))
    return LambdaCall(
        array_of(row), indexes.nullable, LambdaFunction.TRANSFORM, (indexes,), (*arrays,), body
    )


def _bind_array(binder: ClauseBinder, written: syntax.Expression) -> Expression:
    """Return one array; for a map, that of its entries.

    Raises:
        Refusal: E2xx to E4xx.
    """
    array = binder.bind_and_check_size(written)
    if array.type.element is None:
        raise refusal(
            "E218",
            f"cannot unnest {array.type}",
            written.span,
            f"this is {array.type}, not an ARRAY or MAP",
        )
    return call("map_entries", array) if array.type.kind is Kind.MAP else array


def bind_series(binder: ClauseBinder, written: syntax.TableFunction) -> Expression:
    """Return the array of `GENERATE_SERIES(from, to [, step])`; the step is 1 unless it is given.

    Times have a constant INTERVAL as the step.

    Raises:
        Refusal: E2xx to E4xx.
    """
    bounds: list[Expression] = []
    for each in written.arguments:
        if isinstance(each, syntax.NamedArgument | syntax.TableArgument | syntax.Descriptor):
            raise not_implemented("named arguments and tables as arguments of functions", each.span)
        bounds.append(binder.bind_and_check_size(each))
    made = _series_of_times(bounds, written, binder)
    if made is None and len(bounds) in {2, 3}:
        made = make_call("sequence", *bounds, *[_ONE] * (3 - len(bounds)))
    if made is None:
        raise refusal(
            "E401",
            f"function {SERIES} does not take ({', '.join(str(each.type) for each in bounds)})",
            written.span,
            note=f"it is {SERIES}(BIGINT, BIGINT), {SERIES}(BIGINT, BIGINT, BIGINT) or"
            f" {SERIES}(TIMESTAMP, TIMESTAMP, INTERVAL)",
            help="compute times by months from numbers: at + n * INTERVAL '1' MONTH",
        )
    binder.source_spans.add(made, written.span)
    return made


def _series_of_times(
    bounds: Sequence[Expression], written: syntax.TableFunction, binder: ClauseBinder
) -> Expression | None:
    """Return the array of the times from one to another, None for other arguments.

    Raises:
        Refusal: E403 if the step is not constant, E405 if it is 0.
    """
    if len(bounds) != 3 or bounds[2].type != INTERVAL:
        return None
    *ends, step = bounds
    if any(each.type.kind not in {Kind.TIMESTAMP, Kind.DATE} for each in ends):
        return None
    step_us = constant_value(step)
    if step_us is None:
        raise refusal("E403", f"step of {SERIES} is not constant", written.arguments[2].span)
    if step_us == 0:
        raise refusal("E405", f"step of {SERIES} is 0", written.arguments[2].span)
    zoned = any(each.type.zone for each in ends)
    if zoned:
        ends = [
            each if each.type.zone else in_zone(each, binder.zone, binder.zone) for each in ends
        ]
    micros = [call("epoch_micros", each) for each in ends]
    numbers = call("sequence", *micros, Literal(BIGINT, nullable=False, value=step_us))
    binder.source_spans.add(numbers, written.span)
    time = call("timestamp_micros", ColumnRef(BIGINT, nullable=True, index=0))
    if zoned:
        time = utc_to_instant(time, binder.zone)
    return LambdaCall(
        array_of(time.type),
        numbers.nullable,
        LambdaFunction.TRANSFORM,
        (numbers,),
        (),
        LambdaBody(time),
    )
