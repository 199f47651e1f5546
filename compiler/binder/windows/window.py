"""Calls of window functions: in both forms of FROM, and in GROUP BY; TUMBLE and HOP.

All three assign windows to rows: each row is repeated for each of its windows, with the window's bounds in
three additional columns. Windows need event time, because only its watermark closes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.analysis.properties import Bound
from fsql.compiler.binder.ddl.declared_functions import NO_FUNCTIONS
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.scope import Field, Scope
from fsql.compiler.binder.windows.event_time import window_time
from fsql.compiler.bound.source_spans import SourceSpans
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.explain.literals import interval_text
from fsql.compiler.functions.calls import make_call
from fsql.compiler.functions.evaluate import constant, evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.refused import WINDOW_FUNCTIONS
from fsql.compiler.logical import AssignWindows, Plan
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import INTERVAL, MONTHS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


_FORMS: Final[Mapping[str, str]] = {
    "TUMBLE": "TUMBLE({data}at, INTERVAL '1' MINUTE)",
    "HOP": "HOP({data}at, INTERVAL '10' SECOND, INTERVAL '1' MINUTE)",
    "CUMULATE": "CUMULATE({data}at, INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
    "SESSION": "SESSION({data}at, INTERVAL '30' MINUTE)",
}
"""The forms of the functions: HOP takes the slide, then the size; CUMULATE the step, then the size."""

WINDOWS_OF_ROW_MAX: Final = 10_000
WINDOW_US_MAX: Final = 36_525 * 86_400_000_000
"""A century."""

_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
"""The names of the arguments in positional order."""

Argument = (
    syntax.Expression
    | syntax.TableArgument
    | syntax.Descriptor
    | syntax.NamedArgument
    | syntax.Star
)


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A call of a window function with its arguments; `data` is None in GROUP BY.

    Sessions have no slide; their size is the gap.  The slide of cumulative windows is their step.
    """

    data: Argument | None
    time_column: syntax.ColumnReference | syntax.EventTime
    size_us: int
    slide_us: int | None
    offset_us: int
    cumulative: bool = False


def read_window_call(
    name: syntax.QualifiedName,
    arguments: Sequence[Argument],
    span: Span,
    zone: str,
    *,
    in_from: bool,
) -> WindowCall:
    """Return a checked call of a window function, in a script with a time zone.

    Raises:
        Refusal: E202, E301, E307, E320.
    """
    function = name.parts[-1].name.upper()
    if function not in _FORMS:
        from fsql.compiler.dialects.advice.functions import OTHER_DIALECTS

        near = near_name(function, WINDOW_FUNCTIONS)
        raise refusal(
            "E202",
            f'table function "{name.parts[-1].name}" does not exist',
            name.span,
            help=f"a window function with a similar name exists: {near}"
            if near
            else OTHER_DIALECTS.get(function),
        )
    given = _by_name(function, arguments, span, in_from=in_from)
    if function == "SESSION":
        gap_us = interval_argument_us(given["GAP"], "gap", zone, positive=True)
        _check_sizes(gap_us, gap_us, span)
        return WindowCall(given.get("DATA"), time_column_of(given["TIMECOL"]), gap_us, None, 0)
    size_us = interval_argument_us(given["SIZE"], "size", zone, positive=True)
    slide = "STEP" if function == "CUMULATE" else "SLIDE"
    slide_us = size_us
    if slide in given:
        slide_us = interval_argument_us(given[slide], slide.lower(), zone, positive=True)
    offset_us = interval_argument_us(given["OFFSET"], "offset", zone) if "OFFSET" in given else 0
    _check_sizes(size_us, slide_us, span)
    time_column = time_column_of(given["TIMECOL"])
    if function == "CUMULATE":
        _check_steps(size_us, slide_us, given["STEP"].span)
        return WindowCall(
            given.get("DATA"), time_column, size_us, slide_us, offset_us % size_us, cumulative=True
        )
    # Windows start at every `offset + k * slide`, so the offset modulo the slide suffices.
    return WindowCall(given.get("DATA"), time_column, size_us, slide_us, offset_us % slide_us)


def _check_steps(size_us: int, step_us: int, span: Span) -> None:
    """Check that the size of cumulative windows is a multiple of their step.

    Raises:
        Refusal: E307.
    """
    if size_us % step_us:
        raise refusal(
            "E307",
            "the size of a cumulative window is not a multiple of its step",
            span,
            help="write CUMULATE(t, at, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)",
        )


def _check_sizes(size_us: int, slide_us: int, span: Span) -> None:
    """Check that a row is not in too many windows, and that the bounds of windows are valid times.

    Raises:
        Refusal: E320.
    """
    windows = -(-size_us // slide_us)
    if windows > WINDOWS_OF_ROW_MAX:
        raise refusal(
            "E320",
            f"each row is in {windows:,} windows; the limit is {WINDOWS_OF_ROW_MAX:,}",
            span,
            help="use a larger slide or a smaller size",
        )
    if max(size_us, slide_us) > WINDOW_US_MAX:
        raise refusal("E320", "window is longer than 100 years", span, help="use a smaller size")


def _by_name(
    function: str, arguments: Sequence[Argument], span: Span, *, in_from: bool
) -> dict[str, Argument]:
    """Return the arguments by name, whether they were given by name or by position."""
    names = _NAMED[function] if in_from else _NAMED[function][1:]
    given: dict[str, Argument] = {}
    for index, argument in enumerate(arguments):
        if isinstance(argument, syntax.NamedArgument):
            name = argument.name.name.upper()
            value: Argument = argument.value
        else:
            name = names[index] if index < len(names) else ""
            value = argument
        if name not in names or name in given:
            raise _wrong_form(function, span, in_from=in_from)
        given[name] = value
    if any(name not in given for name in names if name != "OFFSET"):
        raise _wrong_form(function, span, in_from=in_from)
    return given


def _wrong_form(function: str, span: Span, *, in_from: bool) -> Refusal:
    names = _NAMED[function] if in_from else _NAMED[function][1:]
    words = {
        "DATA": "a table",
        "TIMECOL": "a column",
        "SIZE": "the size",
        "SLIDE": "the slide",
        "STEP": "the step",
        "GAP": "the gap",
    }
    wanted = ", ".join(words[name] for name in names if name in words)
    optional = ", and an optional offset" if "OFFSET" in names else ""
    form = _FORMS[function].format(data="t, " if in_from else "")
    return refusal(
        "E307",
        f"{function} takes {wanted}{optional}",
        span,
        help=f"write {form}",
    )


def time_column_of(argument: Argument) -> syntax.ColumnReference | syntax.EventTime:
    """Return the column that an argument names.

    Raises:
        Refusal: E307.
    """
    if isinstance(argument, syntax.ColumnReference | syntax.EventTime):
        return argument
    if isinstance(argument, syntax.Descriptor) and len(argument.columns) == 1:
        return syntax.ColumnReference(argument.columns[0].span, argument.columns)
    raise refusal(
        "E307",
        "a window needs one event-time column",
        argument.span,
        help="declare a computed column with a WATERMARK in CREATE TABLE",
    )


def interval_argument_us(
    argument: Argument, what: str, zone: str, *, positive: bool = False
) -> int:
    """Return the value of an argument that must be a constant interval."""
    if isinstance(
        argument, (syntax.TableArgument, syntax.Descriptor, syntax.NamedArgument, syntax.Star)
    ):
        raise refusal("E307", f"the {what} of a window is a constant INTERVAL", argument.span)
    value = constant_interval_us(argument, zone)
    if value is None or (positive and value <= 0):
        raise refusal(
            "E307",
            f"the {what} of a window must be a constant INTERVAL{' greater than zero' if positive else ''}",
            argument.span,
            help="write INTERVAL '1' MINUTE",
        )
    return value


def is_of_months(expression: syntax.Expression, zone: str) -> bool:
    """Return whether a constant expression is an INTERVAL of months, which has no fixed length.

    Raises:
        Refusal: E2xx to E4xx, if it cannot be bound.
    """
    return _bind_alone(expression, zone).type == MONTHS


def _bind_alone(expression: syntax.Expression, zone: str) -> Expression:
    binder = ExpressionBinder(Scope(((),)), "a constant", SourceSpans(), NO_FUNCTIONS, zone)
    return binder.bind_and_check_size(expression)


def constant_interval_us(expression: syntax.Expression, zone: str) -> int | None:
    """Return the value of a constant expression of type INTERVAL; None for other expressions.

    Raises:
        Refusal: E2xx to E4xx, if it cannot be bound.
    """
    bound = _bind_alone(expression, zone)
    if bound.type == MONTHS:
        raise refusal(
            "E307",
            "an INTERVAL of months has no fixed length",
            expression.span,
            help="write days: INTERVAL '30' DAY",
        )
    if bound.type != INTERVAL or not constant(bound):
        return None
    try:
        value = evaluate(bound, ())
    except RowFailure:
        return None
    return value if isinstance(value, int) else None


def assign_windows(
    relation: Relation, call: WindowCall, span: Span, source_spans: SourceSpans
) -> Relation:
    """Return the relation's rows with their windows.

    The new columns hide those of the same names from windows below.

    Raises:
        Refusal: E203, E204, E304; E301 for CUMULATE where clocks change.
    """
    relation, time = window_time(relation, call.time_column, source_spans, of_changes=True)
    if time.column.time_attribute:
        check_grace(relation.plan, time, call.time_column)
    assert call.slide_us is not None, "these are not sessions"
    if call.cumulative:
        return _cumulative_windows(relation, time.index, call, span, source_spans)
    slide_us = call.slide_us
    plan = AssignWindows(relation.plan, time.index, call.size_us, slide_us, call.offset_us)
    source_spans.add(plan, span)
    return with_bounds(relation, plan)


def check_grace(
    plan: Plan, time: Field, written: syntax.ColumnReference | syntax.EventTime
) -> None:
    """Check that the GRACE PERIOD of a window is the time that its rows are waited for.

    Raises:
        Refusal: E307.
    """
    if not isinstance(written, syntax.EventTime) or written.grace is None:
        return
    check_delay("GRACE PERIOD", written.grace, time.name, delay_us(plan, time.index))


def check_delay(clause: str, written: syntax.IntervalLiteral, name: str, waited_us: int) -> None:
    """Check that a GRACE PERIOD is the delay of the event times `name`.

    Raises:
        Refusal: E307.
    """
    grace_us = constant_interval_us(written, "UTC")
    if grace_us == waited_us:
        return
    assert grace_us is not None
    waits = f"for {interval_text(waited_us)}" if waited_us else "for no late rows"
    delay = f"{name} AS {name} - {interval_text(grace_us)}" if grace_us else name
    raise refusal(
        "E307",
        f'{clause} is not the delay of "{name}"',
        written.span,
        f"the WATERMARK waits {waits}",
        note="the delay of the event-time column says how late rows may come",
        help=f"remove it, or write WATERMARK FOR {delay} in CREATE TABLE",
    )


def _cumulative_windows(
    relation: Relation, time: int, call: WindowCall, span: Span, source_spans: SourceSpans
) -> Relation:
    """Return the windows that begin with a TUMBLE window and end with a step, not after it.

    These ends are those of the HOP windows of the row that are not after the end of its TUMBLE window.
    """
    assert call.slide_us is not None
    size_us, step_us, offset_us = call.size_us, call.slide_us, call.offset_us
    whole = AssignWindows(relation.plan, time, size_us, size_us, offset_us)
    steps = AssignWindows(whole, time, size_us, step_us, offset_us % step_us)
    if not steps.known_by_one_bound:
        raise not_implemented(
            "CUMULATE of TIMESTAMP_LTZ in a zone whose clocks change",
            span,
            help="set a fixed offset: SET 'table.local-time-zone' = '+01:00'",
        )
    source_spans.add(whole, span)
    source_spans.add(steps, span)
    columns = column_refs(steps)
    start, last, _, _, end, until = columns[relation.width :]
    within = make_call("le", end, last)
    assert within is not None
    names = [column.name for column in steps.schema]
    kept = project(
        filter_relation(steps, [within]),
        [*columns[: relation.width], last, start, end, until],
        [*names[: relation.width], "last_end", *(bound.value for bound in Bound)],
    )
    return with_bounds(relation, kept)


def with_bounds(relation: Relation, plan: Plan) -> Relation:
    """Return `plan` with the names of the relation's columns and of the bounds, its last three."""
    names = {bound.value for bound in Bound}
    kept = tuple(
        replace(field, column=replace(plan.schema[field.index], name=field.column.name))
        for field in relation.fields
        if field.name.lower() not in names
    )
    qualifier = _only_qualifier(relation)
    added = tuple(
        Field(qualifier, column.name, index, column)
        for index, column in list(enumerate(plan.schema))[-len(names) :]
    )
    return Relation(plan, kept + added, relation.row_time)


def _only_qualifier(relation: Relation) -> str | None:
    qualifiers = {field.qualifier for field in relation.fields}
    return qualifiers.pop() if len(qualifiers) == 1 else None


def is_window_call(expression: object) -> bool:
    """Return whether an element of GROUP BY is a call of a window function."""
    return (
        isinstance(expression, syntax.FunctionCall)
        and len(expression.name.parts) == 1
        and expression.name.parts[0].name.upper() in WINDOW_FUNCTIONS
    )


def window_field(relation: Relation, bound: Bound) -> Field:
    """Return the field of a bound of the most recently assigned windows."""
    return next(field for field in reversed(relation.fields) if field.name == bound.value)
