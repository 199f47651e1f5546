"""Verifies logical plans.

The binder and every rewrite rule produce plans that follow these rules, and lowering relies on them.  A
violation is a bug of fsql, so it is an AssertionError that lists all violations and shows the plan.

* **References.**  A column reference finds a column of its type, and allows NULL where that does.
* **Types.**  Calls fit a signature exactly, coercions are written as casts, literals are values of their
  types, predicates are BOOLEAN, the two sides of a join key have one type, and so have the branches of a
  union.
* **Names.**  There is a name for each expression and aggregate.
* **Time.**  Windows are assigned by, and joins bounded by, event-time columns that are never NULL.  A
  window is aggregated by a key that is its end.
* **Changes.**  Over and ApplyChanges read append-only input, and so do sessions, ARRAY_AGG, a join with
  a time range, and the left side of one that joins rows once.
* **Scans.**  Within one INSERT, a scan number belongs to one Scan.
* **Sinks.**  The query has the types of the sink's columns; APPEND is given append-only queries only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import AggregateFunction, ColumnRef
from fsql.compiler.functions.aggregates import aggregate_result, points_type
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.logical import REACHED, FrameEnd, JoinKind, append_only, may_tie
from fsql.compiler.row_pattern import TIME
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, Kind
from fsql.compiler.verify.expression import verify_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.row_pattern import RowPattern
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType


def verify_logical(job: logical.Job) -> None:
    """Raise AssertionError, with every violation on a line of its own, unless `job` is legal.

    Inputs are verified first.  The readers of an illegal input are skipped, since they cannot be printed.
    """
    for insert in job.inserts:
        for plan in logical.operators(insert.query):
            violations = [f"{type(plan).__name__}: {each}" for each in _operator(plan)]
            if violations:
                raise AssertionError(_report(violations, plan))
        if violations := [f"Insert into {insert.sink.name}: {each}" for each in _insert(insert)]:
            raise AssertionError(_report(violations, insert.query))


def _report(violations: Iterable[str], plan: logical.Plan) -> str:
    from fsql.compiler.explain.plan import plan_text  # every run would import it, few need it

    return "\n".join(["illegal plan:", *dict.fromkeys(violations), plan_text(plan)])


def _insert(insert: logical.Insert) -> Iterator[str]:
    given, wanted = _types(insert.query.schema), _types(insert.sink.columns)
    if given != wanted:
        yield f"the query gives {_types_text(given)}, the sink has {_types_text(wanted)}"
    if any(not 0 <= index < len(wanted) for index in insert.sink.key or ()):
        yield f"the key {insert.sink.key} is not among the sink's columns"
    if insert.sink.changes is logical.Changes.APPEND and not append_only(insert.query):
        yield "an append sink is given changes"
    scans = [plan for plan in logical.operators(insert.query) if isinstance(plan, logical.Scan)]
    for scan_number, count in Counter(scan.scan_number for scan in scans).items():
        if count > 1:
            yield f"scan number {scan_number} belongs to {count} scans"


def _operator(plan: logical.Plan) -> Iterator[str]:
    match plan:
        case logical.Filter() | logical.Project() | logical.AssignWindows():
            yield from _row_operator(plan)
        case logical.AssignExpiry() | logical.AssignRowTime() | logical.CountLateRows():
            yield from _check_times(plan)
        case logical.Unnest() | logical.LateralAggregate():
            yield from _array_operator(plan)
        case logical.Aggregate() | logical.WindowAggregate():
            yield from _aggregate_operator(plan)
        case (
            logical.ApplyChanges()
            | logical.ToChangelog()
            | logical.Over()
            | logical.AssignSessions()
            | logical.Rank()
        ):
            yield from _keyed_operator(plan)
        case logical.Join():
            yield from _join(plan)
        case logical.Union(branches=(first, *others)):
            if any(_types(branch.schema) != _types(first.schema) for branch in others):
                yield "the branches have different types"
        case _:
            if not isinstance(plan, logical.Scan | logical.AssignEnd):
                yield "not an operator of the logical plan"


def _row_operator(plan: logical.Filter | logical.Project | logical.AssignWindows) -> Iterator[str]:
    below = plan.input.schema
    match plan:
        case logical.Filter(predicate=predicate):
            yield from _predicate(predicate, below)
        case logical.Project(expressions=expressions, names=names):
            yield from _name_counts(expressions, names)
            yield from _expressions(expressions, below)
        case logical.AssignWindows(time_column=index):
            if append_only(plan.input):
                yield from _time_column(below, index)
            elif below[index].type.kind is not Kind.TIMESTAMP or below[index].nullable:
                yield f"column {index} is no time that is never NULL"
            if plan.size_us <= 0 or plan.slide_us <= 0:
                yield "the size and the slide of a window must be positive"


def _check_times(
    plan: logical.AssignExpiry | logical.AssignRowTime | logical.CountLateRows,
) -> Iterator[str]:
    if not isinstance(plan, logical.AssignRowTime):
        yield from _time_column(plan.input.schema, plan.time_column)
        least = REACHED if isinstance(plan, logical.CountLateRows) else 0
        if plan.wait_us < least or plan.delay_us < 0 or plan.grain_us <= 0:
            yield "a row expires before its own time"
    if not append_only(plan.input):
        yield "a time of rows of input that changes"


def _array_operator(plan: logical.Unnest | logical.LateralAggregate) -> Iterator[str]:
    yield from _expressions([plan.array], plan.input.schema)
    element = plan.array.type.element
    if element is None:
        yield f"a {plan.array.type} is unnested"
    elif isinstance(plan, logical.LateralAggregate):
        ordinal = (Column("ordinal", BIGINT, nullable=False),) if plan.ordinality else ()
        inside = (*plan.input.schema, Column("element", element), *ordinal)
        if plan.predicate is not None:
            yield from _predicate(plan.predicate, inside)
        yield from _groups(plan.keys, plan.key_names, plan.aggregates, plan.aggregate_names)
        yield from _expressions(plan.keys, inside)
        yield from _aggregates(plan.aggregates, inside, append=True)


def _aggregate_operator(plan: logical.Aggregate | logical.WindowAggregate) -> Iterator[str]:
    below = plan.input.schema
    yield from _groups(plan.keys, plan.key_names, plan.aggregates, plan.aggregate_names)
    yield from _expressions(plan.keys, below)
    yield from _aggregates(plan.aggregates, below, append=append_only(plan.input))
    if isinstance(plan, logical.WindowAggregate):
        yield from _time_column(below, plan.window_end)
        key_columns = {key.index for key in plan.keys if isinstance(key, ColumnRef)}
        if plan.window_end not in key_columns:
            yield "the end of the window is not among the keys"


def _keyed_operator(
    plan: logical.ApplyChanges
    | logical.ToChangelog
    | logical.Over
    | logical.AssignSessions
    | logical.Rank,
) -> Iterator[str]:
    match plan:
        case logical.ApplyChanges():
            yield from _changes(plan)
        case logical.ToChangelog(key=key):
            if key is not None and not set(key) <= set(range(len(plan.input.schema))):
                yield f"the changes have no key {key}"
        case logical.Over():
            yield from _over(plan)
        case logical.AssignSessions():
            yield from _sessions(plan)
        case logical.Rank():
            yield from _rank(plan)


def _changes(plan: logical.ApplyChanges) -> Iterator[str]:
    yield from _expressions((*plan.keys, *plan.values), plan.input.schema)
    yield from _predicate(plan.present, plan.input.schema)
    if plan.whole is not None:
        yield from _predicate(plan.whole, plan.input.schema)
    if plan.compared and (plan.whole is None or max(plan.compared) >= len(plan.values)):
        yield f"changes that are compared in {plan.compared}"
    if not append_only(plan.input):
        yield "changes of input that changes"
    if plan.unavailable is not None:
        yield from _expressions((plan.unavailable,), plan.input.schema)
        if len(plan.marks) != len(plan.values):
            yield "not one mark for each value"


def _over(plan: logical.Over) -> Iterator[str]:
    below = plan.input.schema
    if not append_only(plan.input):
        yield "running aggregates of input that changes"
    yield from _name_counts(plan.calls, plan.names)
    yield from _expressions(plan.partition, below)
    for call in plan.calls:
        # Only functions in Python would have to remove rows; others in the total order are read from them.
        python = call.aggregate.python is not None
        yield from _aggregates([call.aggregate], below, append=not python or call.preceding is None)
        if call.time is not None and (call.preceding or 0) < 0:
            yield "a frame begins after its row"
        if call.frame_end is FrameEnd.ONE_PRECEDING and not call.is_running:
            yield "a frame is bounded on both sides"
        if call.preceding is not None and call.preceding < call.end_preceding:
            yield "a frame ends before it begins"
        if call.delay + min(call.end_preceding, 0) < 0:
            yield "a frame ends after the rows that have come"
        if call.delay and call.time is not None:
            yield "a frame by time is that of an earlier row"
        if call.time is not None:
            yield from _expressions([call.time], below)
            if call.time.type.kind is not Kind.TIMESTAMP or call.time.nullable:
                yield "a frame is ordered by a value that is not a time"


def _sessions(plan: logical.AssignSessions) -> Iterator[str]:
    below = plan.input.schema
    if not append_only(plan.input):
        yield "sessions of input that changes"
    yield from _expressions(plan.partition, below)
    yield from _time_column(below, plan.time_column)
    if (
        not 0 <= plan.end_column < len(below)
        or below[plan.end_column].type.kind is not Kind.TIMESTAMP
    ):
        yield f"column {plan.end_column} is not the end of a session"
    order = plan.order_column
    if order is not None and (
        not 0 <= order < len(below)
        or below[order].type.kind not in {Kind.BIGINT, Kind.TIMESTAMP}
        or below[order].nullable
    ):
        yield f"column {order} does not order the rows of a session"
    bound = plan.sorted_type
    if bound is not None and (
        not plan.sorts
        or replace(bound, fraction=None) != below[plan.time_column].type.without_fraction
    ):
        yield f"the bounds of sessions are not of type {bound}"


def _rank(plan: logical.Rank) -> Iterator[str]:
    below = plan.input.schema
    yield from _expressions([*plan.partition, *(key.expression for key in plan.order)], below)
    if plan.skipped < 0 or (plan.limit is not None and plan.limit <= plan.skipped):
        yield f"no rank is above {plan.skipped} and up to {plan.limit}"
    if plan.window_end is None:
        if plan.final:
            yield "a final rank without a window"
        return
    yield from _time_column(below, plan.window_end)
    if plan.window_end not in {key.index for key in plan.partition if isinstance(key, ColumnRef)}:
        yield "the end of the window is not among the keys"
    for time in plan.window_times:
        yield from _time_column(below, time)


def _join(plan: logical.Join) -> Iterator[str]:
    left, right = plan.left.schema, plan.right.schema
    yield from _expressions(plan.left_keys, left)
    yield from _expressions(plan.right_keys, right)
    if _key_types(plan.left_keys) != _key_types(plan.right_keys):
        yield "the keys of the sides have different types"
    if plan.time_range is not None:
        yield from _time_column(left, plan.time_range.left_time)
        yield from _time_column(right, plan.time_range.right_time)
        if not append_only(plan):
            yield "a time range on input that changes, or of an outer join"
    if plan.once:
        yield from _join_once(plan)
    if plan.hot_keys is not None:
        yield from _hot_keys(plan, plan.hot_keys)


def _join_once(plan: logical.Join) -> Iterator[str]:
    if plan.kind not in {JoinKind.INNER, JoinKind.LEFT} or plan.time_range is not None:
        yield "a join that joins rows once is neither INNER nor LEFT, or has a time range"
    if plan.condition is not None:
        yield from _predicate(plan.condition, (*plan.left.schema, *plan.right.schema))
    if not append_only(plan.left):
        yield "a join that joins rows of the left once, which can be retracted"


def _hot_keys(plan: logical.Join, hot_keys: logical.HotKeys) -> Iterator[str]:
    if not append_only(plan) or may_tie(plan):
        yield "hot keys of a join of input that changes or ties, or of an outer join"
    if not 0 <= hot_keys.number < len(plan.left_keys) or hot_keys.divided not in {0, 1}:
        yield "hot keys of a key or a side that does not exist"
    if any(map(fallible, (*plan.left_keys, *plan.right_keys))):
        yield "hot keys of a join whose keys can fail"


def _key_types(keys: Sequence[Expression]) -> list[SqlType]:
    """Return the types of keys; times of different digits of fraction are equal as instants."""
    return [key.type.without_fraction for key in keys]


def _groups(
    keys: Sequence[Expression],
    key_names: Sequence[str],
    aggregates: Sequence[AggregateCall],
    aggregate_names: Sequence[str],
) -> Iterator[str]:
    yield from _name_counts(keys, key_names)
    yield from _name_counts(aggregates, aggregate_names)


def _aggregates(calls: Iterable[AggregateCall], below: Schema, *, append: bool) -> Iterator[str]:
    for call in calls:
        taken = None
        if call.argument is not None:
            taken = call.argument.type
            yield from verify_expression(call.argument, below)
        if call.pattern is not None:
            yield from _row_pattern(call.pattern, call, () if taken is None else taken.field_types)
        elif call.python is not None:
            yield from _python_call(call, call.python, append=append)
        elif call.function is AggregateFunction.M4:
            yield from _points(call)
        elif call.type != aggregate_result(call.function, taken):
            yield f"{call.function.value} of {taken or '*'} is not a {call.type}"
        yield from (each for other in call.others for each in verify_expression(other, below))
        if _needs_order(call) and not append:
            yield f"{call.function.value} in the total order of input that changes"


def _needs_order(call: AggregateCall) -> bool:
    """Return whether an aggregate other than one of Python goes by the total order of its rows."""
    if call.function is AggregateFunction.ARRAY_AGG:
        return not (call.directions or call.distinct)
    return call.by_position or call.function is AggregateFunction.M4


def _points(call: AggregateCall) -> Iterator[str]:
    assert call.argument is not None
    if call.type != points_type(call.argument.type, call.others[0].type, call.chart):
        yield f"M4 of {call.argument.type} is not a {call.type}"


def _python_call(call: AggregateCall, name: str, *, append: bool) -> Iterator[str]:
    if call.function is AggregateFunction.PROGRAM:
        from fsql.compiler.functions.python_programs import registered_program

        if call.type != registered_program(name).type:
            yield f"the value of an event of a program is not a {call.type}"
        if not append or call.in_value_order:
            yield "a program over input that changes"
        return
    if call.type != registered_aggregate(name).state:
        yield f"the accumulator of a function in Python is not a {call.type}"
    if not (append or call.in_value_order):
        yield "a function in Python in the total order of input that changes"


def _row_pattern(
    pattern: RowPattern, call: AggregateCall, fields: tuple[SqlType, ...]
) -> Iterator[str]:
    measures = [measure.type for measure in pattern.measures]
    if call.type.element is None or [*call.type.element.field_types] != measures:
        yield f"the measures of a pattern are not a {call.type}"
    if [each.kind for each in fields[: TIME + 1]] != [Kind.BOOLEAN, Kind.TIMESTAMP]:
        yield "the rows of a pattern do not begin with a BOOLEAN, whether there is a row, and its time"
    if len(fields) != pattern.width:
        yield f"a pattern is over {pattern.width} fields, and its rows have {len(fields)}"
    read = [*fields, *(each.type for each in pattern.navigations)]
    over = tuple(Column(f"field {index}", each) for index, each in enumerate(read))
    for condition in pattern.conditions:
        # Fields may be declared NOT NULL, which their types do not state.
        if condition is not None:
            yield from (each for each in _predicate(condition, over) if "may be NULL" not in each)
    for navigation in (*pattern.navigations, *pattern.measures):
        field = navigation.field
        if field is not None and (
            field >= len(fields) or fields[field] != navigation.argument_type
        ):
            yield f"{navigation.kind.value} of a pattern reads field {field}"


def _predicate(predicate: Expression, below: Schema) -> Iterator[str]:
    if predicate.type != BOOLEAN:
        yield f"the predicate is a {predicate.type}"
    yield from _expressions([predicate], below)


def _expressions(expressions: Iterable[Expression], below: Schema) -> Iterator[str]:
    for expression in expressions:
        yield from verify_expression(expression, below)


def _name_counts(items: Sequence[object], names: Sequence[str]) -> Iterator[str]:
    if len(items) != len(names):
        yield f"{len(items)} expressions have {len(names)} names"


def _time_column(schema: Schema, index: int) -> Iterator[str]:
    if not 0 <= index < len(schema):
        yield f"there is no column {index} to take the time from"
    elif not schema[index].time_attribute or schema[index].nullable:
        yield f"column {schema[index]} is not event time that is never NULL"


def _types(schema: Schema) -> list[SqlType]:
    return [column.type for column in schema]


def _types_text(types: Iterable[SqlType]) -> str:
    return f"({', '.join(str(kind) for kind in types)})"
