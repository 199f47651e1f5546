"""The arrays of UNNEST, one or several in parallel, and of GENERATE_SERIES.

If there are several, the elements at one index become a row, with NULL for shorter arrays:

    UNNEST(a, b)   →   UNNEST(TRANSFORM(SEQUENCE(1, n, 1), i -> ROW(a[i], b[i]))), n the greatest length
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.operators import call, make_call
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
from fsql.compiler.sqltypes import BIGINT, Kind, array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.expression import ExpressionBinder
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span

SERIES: Final = "GENERATE_SERIES"

_ZERO: Final = Literal(BIGINT, nullable=False, value=0)
_ONE: Final = Literal(BIGINT, nullable=False, value=1)


def bind_arrays(binder: ExpressionBinder, unnest: syntax.Unnest) -> Expression:
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


def number_elements(array: Expression, binder: ExpressionBinder, span: Span) -> Expression:
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


def _bind_array(binder: ExpressionBinder, written: syntax.Expression) -> Expression:
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


def bind_series(binder: ExpressionBinder, written: syntax.TableFunction) -> Expression:
    """Return the array of `GENERATE_SERIES(from, to [, step])`; the step is 1 unless it is given.

    Raises:
        Refusal: E2xx to E4xx.
    """
    bounds: list[Expression] = []
    for each in written.arguments:
        if isinstance(each, syntax.NamedArgument | syntax.TableArgument | syntax.Descriptor):
            raise not_implemented("named arguments and tables as arguments of functions", each.span)
        bounds.append(binder.bind_and_check_size(each))
    made = None
    if len(bounds) in {2, 3}:
        made = make_call("sequence", *bounds, *[_ONE] * (3 - len(bounds)))
    if made is None:
        raise refusal(
            "E401",
            f"function {SERIES} does not take ({', '.join(str(each.type) for each in bounds)})",
            written.span,
            note=f"it is {SERIES}(BIGINT, BIGINT) or {SERIES}(BIGINT, BIGINT, BIGINT)",
            help="compute times from the numbers: at + n * INTERVAL '1' HOUR",
        )
    binder.source_spans.add(made, written.span)
    return made
