"""M4 in FROM: the columns of pixels of a line chart over a moving span of time, each with its points.

M4(TABLE t PARTITION BY k, DESCRIPTOR(at), DESCRIPTOR(value), WIDTH => 1200, SPAN => INTERVAL '10' MINUTE)

is a TUMBLE of SPAN / WIDTH, grouped by k and the window, with the aggregate M4(value, at).  With EMIT
CHANGES, a column is open while it is shown: until the SPAN after its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound
from fsql.compiler.binder.aggregates.line_chart import m4_call, not_pixels, pixels_of
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.relation import Relation, relation_of
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.scope import Scope
from fsql.compiler.binder.tables import bind_table_argument
from fsql.compiler.binder.windows.session import partition_of_table
from fsql.compiler.binder.windows.window import (
    WindowCall,
    assign_windows,
    interval_argument_us,
    time_column_of,
    window_field,
)
from fsql.compiler.explain.literals import interval_text
from fsql.compiler.expression import AggregateFunction
from fsql.compiler.functions.aggregates import accumulator_type, aggregate_result
from fsql.compiler.functions.calls import make_cast
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.evaluate import constant, constant_value
from fsql.compiler.planner.line_chart import Scale, plan_line_chart
from fsql.compiler.sqltypes import DOUBLE

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.expression import AggregateCall
    from fsql.compiler.text.source import Span

M4: Final = "M4"
_NAMES: Final = ("DATA", "TIMECOL", "VALUE", "WIDTH", "SPAN", "HEIGHT", "LOW", "HIGH")
_REQUIRED: Final = _NAMES[:5]
_SCALE: Final = _NAMES[5:]
_HELP: Final = (
    "write M4(TABLE t PARTITION BY k, DESCRIPTOR(at), DESCRIPTOR(value), WIDTH => 1200,"
    " SPAN => INTERVAL '10' MINUTE)"
)
_SCALE_HELP: Final = "write HEIGHT => 300, LOW => 0, HIGH => 100, or none of the three"


def bind_line_chart(
    written: syntax.TableFunction, context: Context, bind_query: QueryBinder, *, changes: bool
) -> Relation:
    """Return the columns of the chart: the partition, the bounds of the column, and its points.

    They change while they are shown if there are `changes`; otherwise they are final.

    Raises:
        Refusal: E2xx to E4xx.
    """
    given = _arguments(written)
    span_us = interval_argument_us(given["SPAN"], "span", context.zone)
    width = pixels_of(given["WIDTH"])
    if width is None:
        raise not_pixels(M4, given["WIDTH"].span)
    if span_us % width:
        least, shown = span_us // width * width, "a whole number of microseconds"
        raise refusal(
            "E307",
            f"a column of M4 is not {shown} long: {interval_text(span_us)} of {width:,} pixels",
            given["SPAN"].span,
            help=f"make the span a multiple of the width: {interval_text(least or width)}",
        )
    scale = _scale(given, context)
    data = given["DATA"]
    if not isinstance(data, syntax.TableArgument | syntax.ColumnReference):
        raise refusal("E307", "the first argument of M4 must be a table", data.span, help=_HELP)
    relation = bind_table_argument(data, context, bind_query)
    partition = data.partition_by if isinstance(data, syntax.TableArgument) else ()
    column_us = span_us // width
    tumble = WindowCall(
        None, time_column_of(given["TIMECOL"]), column_us, slide_us=column_us, offset_us=0
    )
    windows = assign_windows(relation, tumble, written.span, context.source_spans)
    start, end = (window_field(windows, bound).index for bound in (Bound.START, Bound.END))
    chart = plan_line_chart(
        windows.plan,
        partition_of_table(windows, partition, context),
        (start, end),
        _points(windows, given, context),
        scale,
        span_us if changes else None,
        (context.source_spans, written.span),
    )
    return relation_of(chart, None)


def _points(windows: Relation, given: dict[str, Any], context: Context) -> AggregateCall:
    value, at = given["VALUE"], time_column_of(given["TIMECOL"])
    binder = ExpressionBinder(
        windows.scope, M4, context.source_spans, context.functions, context.zone
    )
    if isinstance(value, syntax.Descriptor) and len(value.columns) == 1:
        value = syntax.ColumnReference(value.columns[0].span, value.columns)
    if not isinstance(value, syntax.ColumnReference):
        raise refusal("E307", "M4 needs one column of values", value.span, help=_HELP)
    bound = binder.bind_and_check_size(value)
    taken = accumulator_type(AggregateFunction.M4, bound.type)
    if aggregate_result(AggregateFunction.M4, taken) is None:
        what = f"M4 does not take {bound.type}"
        raise refusal("E401", what, value.span, f"this is {bound.type}")
    assert isinstance(at, syntax.ColumnReference)
    return m4_call(coerce(bound, taken), binder.bind_and_check_size(at))


def _arguments(written: syntax.TableFunction) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for index, argument in enumerate(written.arguments):
        name, value = _NAMES[min(index, len(_NAMES) - 1)], argument
        if isinstance(argument, syntax.NamedArgument):
            name, value = argument.name.name.upper(), argument.value
        if name not in _NAMES or name in given:
            raise _wrong_form(argument.span)
        given[name] = value
    if any(name not in given for name in _REQUIRED):
        raise _wrong_form(written.span)
    scaled = [name for name in _SCALE if name in given]
    if scaled and len(scaled) < len(_SCALE):
        what = "M4 takes HEIGHT, LOW and HIGH together"
        note = "the pixels of a value are known if the values at both ends of the chart are"
        raise refusal("E307", what, given[scaled[0]].span, note=note, help=_SCALE_HELP)
    return given


def _wrong_form(span: Span) -> Refusal:
    what = "M4 takes a table, the columns of time and value, the width and the span"
    return refusal("E307", what, span, help=_HELP)


def _scale(given: dict[str, Any], context: Context) -> Scale | None:
    """Return the height of the chart and the values at its ends, None without a height."""
    if "HEIGHT" not in given:
        return None
    height = pixels_of(given["HEIGHT"])
    if height is None:
        raise not_pixels(M4, given["HEIGHT"].span)
    ends = []
    for name in ("LOW", "HIGH"):
        binder = ExpressionBinder(
            Scope(((),)), M4, context.source_spans, context.functions, context.zone
        )
        bound = binder.bind_and_check_size(given[name])
        value = constant_value(bound) if bound.type.numeric and constant(bound) else None
        if value is None:
            what = f"{name} of M4 is not a constant number"
            raise refusal("E307", what, given[name].span, help=_SCALE_HELP)
        cast = constant_value(make_cast(bound, DOUBLE))
        assert isinstance(cast, float)
        ends.append(cast)
    low, high = ends
    if not low < high:
        raise refusal("E307", "LOW of M4 is not below HIGH", given["HIGH"].span, help=_SCALE_HELP)
    return Scale(height, low, high)
