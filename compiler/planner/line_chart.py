"""The columns of pixels of a line chart: M4 of windows, and its points as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.expression import ColumnRef, FieldAccess, Literal
from fsql.compiler.functions.calls import call, make_cast
from fsql.compiler.logical import Project, WindowAggregate, grain_us
from fsql.compiler.planner.rows import column_refs, make_distinct_names
from fsql.compiler.sqltypes import DOUBLE, INT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span

_POINTS: Final = "m4"


class Scale(NamedTuple):
    """The height of a chart in pixels, and the values at its ends."""

    height: int
    low: float
    high: float


def plan_line_chart(
    windows: Plan,
    keys: Sequence[Expression],
    bounds: tuple[int, int],
    points: AggregateCall,
    scale: Scale | None,
    shown_us: int | None,
    spans: tuple[SourceSpans, Span],
) -> Plan:
    """Return a row for each key and window: the keys, the bounds of the window, its points.

    `bounds` are the columns with the start and the end of windows.  The rows change while they are shown, for
    `shown_us` after the end of the window; they are final if it is None.
    """
    source_spans, span = spans
    columns = column_refs(windows)
    names = [
        windows.schema[key.index].name if isinstance(key, ColumnRef) else f"key_{number}"
        for number, key in enumerate(keys, 1)
    ]
    names += [windows.schema[index].name for index in bounds]
    grain = grain_us(windows)
    aggregate = WindowAggregate(
        windows,
        (*keys, *(columns[index] for index in bounds)),
        make_distinct_names(names),
        (points,),
        (_POINTS,),
        bounds[1],
        final=shown_us is None,
        shown_us=None if shown_us is None else -(-shown_us // grain) * grain,
    )
    *kept, four = column_refs(aggregate)
    fields: list[Expression] = []
    for index, (_, kind) in enumerate(four.type.fields):
        field = FieldAccess(kind, nullable=True, argument=four, index=index)
        # The fields are the time and the value of each point.
        fields.append(field if scale is None or index % 2 == 0 else _pixel(field, scale))
    for node in (points, aggregate, *fields):
        source_spans.add(node, span)
    named = (*aggregate.key_names, *(name for name, _ in four.type.fields))
    return Project(aggregate, (*kept, *fields), named)


def _pixel(value: Expression, scale: Scale) -> Expression:
    """Return the pixel of a value: 0 at the lower end and below, the last one at the upper end and above."""

    def number(of: float) -> Expression:
        return Literal(DOUBLE, nullable=False, value=of)

    low, high = number(scale.low), number(scale.high)
    inside = call("least", high, call("greatest", low, make_cast(value, DOUBLE)))
    share = call("divide", call("subtract", inside, low), number(scale.high - scale.low))
    pixel = call("floor", call("multiply", share, number(float(scale.height))))
    return make_cast(call("least", pixel, number(float(scale.height - 1))), INT)
