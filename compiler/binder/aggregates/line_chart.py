"""M4: the points of a line that decide the pixels of its chart.

M4(value, at)                                  the first, the last, the least and the greatest point
M4(value, at, start, end, width [, height])    these of each column of pixels of a chart of [start, end)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.compiler.functions.aggregates import accumulator_type, points_type
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.evaluate import constant, constant_value
from fsql.compiler.sqltypes import Kind, SqlType

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span

PIXELS_MAX: Final = 100_000
"""The greatest width and height of a chart; the state of a group has 65 bytes for each pixel of the width."""

_HELP: Final = "write M4(value, at), or M4(value, at, start, end, 1200, 300)"
_VALUES: Final = frozenset({Kind.INT, Kind.BIGINT, Kind.DOUBLE})
_DISCRETE: Final = frozenset({Kind.TIMESTAMP, Kind.INT, Kind.BIGINT})


def make_m4(arguments: ClauseBinder, written: syntax.FunctionCall) -> AggregateCall:
    """Return the aggregate of a call of M4, without its FILTER.

    Raises:
        Refusal: E301, E401, E403, E405.
    """
    if len(written.arguments) not in {2, 5, 6}:
        count = len(written.arguments)
        raise refusal(
            "E401", f"M4 takes 2, 5 or 6 arguments, not {count}", written.span, help=_HELP
        )
    if written.distinct or written.order_by:
        what = "DISTINCT" if written.distinct else "ORDER BY"
        raise not_implemented(
            f"{what} in M4", written.span, help="remove it: M4 goes by time and the total order"
        )
    given = []
    for argument in written.arguments:
        if isinstance(argument, syntax.Star):
            raise refusal("E404", "M4 does not take *", argument.span)
        given.append((arguments.bind_and_check_size(argument), argument))
    value, time = (_coordinate(*given[0]), _coordinate(*given[1], is_time=True))
    if len(given) == 2:
        return m4_call(value, time)
    if time.type.kind not in _DISCRETE:
        raise refusal(
            "E401",
            f"a chart of M4 is not over {time.type}",
            given[1][1].span,
            note="a chart is over TIMESTAMP, INT or BIGINT",
            help="cast it, and both ends of the chart: CAST(x AS BIGINT)",
        )
    start, end = (_bound(*each, time.type) for each in given[2:4])
    if end <= start:
        raise refusal("E403", "the chart of M4 ends before it begins", given[3][1].span, help=_HELP)
    width, *height = (_pixels(written) for _, written in given[4:])
    return m4_call(value, time, (start, end, width, *(height or [0])))


def m4_call(
    value: Expression, time: Expression, chart: tuple[int, ...] | None = None
) -> AggregateCall:
    """Return the aggregate of points that M4 takes."""
    result = points_type(value.type, time.type, chart)
    return AggregateCall(
        AggregateFunction.M4, value, result, nullable=True, others=(time,), chart=chart
    )


def _coordinate(
    bound: Expression, written: syntax.Expression, *, is_time: bool = False
) -> Expression:
    taken = accumulator_type(AggregateFunction.M4, bound.type)
    if taken.kind in _VALUES or (is_time and taken.kind is Kind.TIMESTAMP):
        return coerce(bound, taken)
    raise refusal(
        "E401",
        f"M4 does not take {bound.type}",
        written.span,
        f"this is {bound.type}",
        note="M4 takes a number, and a TIMESTAMP or a number as its time",
    )


def _bound(bound: Expression, written: syntax.Expression, time: SqlType) -> int:
    value = constant_value(bound) if constant(bound) else None
    if time.kind is Kind.TIMESTAMP:
        fits = bound.type.without_fraction == time.without_fraction
    else:
        fits = bound.type.kind in {Kind.INT, Kind.BIGINT}
    if not isinstance(value, int) or not fits:
        raise refusal(
            "E403",
            f"an end of the chart of M4 is not a constant {time}",
            written.span,
            help=f"write {time} '2026-01-01 12:00:00'" if time.kind is Kind.TIMESTAMP else _HELP,
        )
    return value


def _pixels(written: syntax.Expression) -> int:
    pixels = pixels_of(written)
    if pixels is None:
        raise not_pixels("M4", written.span)
    return pixels


def pixels_of(written: object) -> int | None:
    """Return the width or the height of a chart; None if it is not a literal within the limits."""
    text = written.text if isinstance(written, syntax.NumberLiteral) else ""
    if not text.isdigit() or len(text) > len(str(PIXELS_MAX)):
        return None
    return int(text) if 1 <= int(text) <= PIXELS_MAX else None


def not_pixels(function: str, span: Span) -> Refusal:
    """Return the refusal of a width or a height."""
    return refusal(
        "E405",
        f"the width and the height of {function} are literals from 1 to {PIXELS_MAX:,}",
        span,
        help="write the pixels of the chart: 1200",
    )
