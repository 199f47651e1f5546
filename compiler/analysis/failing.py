"""An analysis for messages: which part of a plan failed on a row.

A job that stops reports the row and the code of the error.  Operators that process one row at a time are
executed again for that row until one fails.  Failures that depend on other rows (the value of an aggregate,
the partner in a join) cannot be located this way; then all parts that can fail with the code are candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.analysis.delays import closing_delay_us
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Call,
    Case,
    Cast,
    Expression,
    LambdaCall,
    LambdaFunction,
    walk_with_bodies,
)
from fsql.compiler.functions.comparison import LAZY
from fsql.compiler.functions.evaluate import evaluate, fallible_by_itself
from fsql.compiler.functions.failure import RowFailure, TimestampRangeFailure
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.functions.python_functions import PREFIX
from fsql.compiler.functions.time_zones import offset_of, window_bounds
from fsql.compiler.logical import (
    Aggregate,
    ApplyChanges,
    AssignEnd,
    AssignExpiry,
    AssignRowTime,
    AssignWindows,
    CountLateRows,
    Filter,
    Over,
    Plan,
    Project,
    Scan,
    Union,
    Unnest,
    WindowAggregate,
    close_time,
    expiry_time,
    grain_us,
    operators,
)
from fsql.compiler.node import children
from fsql.compiler.rules.failures import sum_overflows
from fsql.compiler.sqltypes import DATE, TIMESTAMP, TIMESTAMP_MAX, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.functions.python_aggregates import PythonAggregate
    from fsql.compiler.functions.python_programs import PythonProgram
    from fsql.compiler.logical import Job, Table
    from fsql.compiler.node import Node

    Row = tuple[Value, ...]

_OF_FUNCTIONS: Final = {
    "divide": {501, 502},
    "divide_interval": {501, 502},
    "modulo": {501},
    "to_timestamp": {503, 504},
    "json_document": {503},
    "unmapped_operation": {503},
    "unavailable_value": {527},
}
"""The errors of functions that have others than E504 for a time and E502."""
_OF_PYTHON: Final = {508, 509}


class FailingPart(NamedTuple):
    """The innermost part of a plan that fails on a row, and its failure."""

    part: Node
    failure: RowFailure


def codes_of(part: Node) -> set[int]:  # noqa: PLR0911 - one line for each kind
    """Return the numbers of the errors with which `part` itself, apart from its parts, may fail."""
    match part:
        case AssignWindows():
            return {504}
        case ApplyChanges(counted=True):
            return {526}
        case ApplyChanges(unavailable=unavailable) if unavailable is not None:
            return {527}
        case AggregateCall():
            return {505} if sum_overflows(part) else set()
        case Call() | Cast() if not fallible_by_itself(part):
            return set()
        case Call(function=name, type=kind):
            if name.startswith(PREFIX):
                return _OF_PYTHON
            return _OF_FUNCTIONS.get(name, {504} if kind in {DATE, TIMESTAMP} else {502})
        case Cast(argument=argument):
            return {502, 503, 504} if argument.type.contains(Kind.STRING) else {502}
        case _:
            return set()


def parts_that_may_fail(job: Job, code: int) -> list[Node]:
    """Return the parts of the job that may fail with the error of that number, inputs first."""
    return [part for part in walk_with_bodies(job) if code in codes_of(part)]


def failing_part(job: Job, table: Table, row: Row, code: int, *, time: int) -> FailingPart | None:
    """Return the part that fails with `code` on a row of `table`; None if it depends on other rows.

    `time` is that of the row's root.
    """
    for insert in job.inserts:
        rows: dict[Plan, list[Row]] = {}
        for plan in operators(insert.query):
            attempt = _Attempt(code, time)
            rows[plan] = attempt.rows_of(plan, table, row, rows)
            if attempt.found is not None:
                return attempt.found
    return None


class _Attempt:
    """Executes operators on the rows derived from one row; `found` is the part that fails with the code."""

    def __init__(self, code: int, time: int) -> None:
        self._code = code
        self._time = time
        self.found: FailingPart | None = None

    def rows_of(self, plan: Plan, table: Table, row: Row, rows: dict[Plan, list[Row]]) -> list[Row]:
        """Return the output rows of `plan`; none if they depend on other rows."""
        below = [each for input_ in plan.inputs for each in rows[input_]]
        match plan:
            case Scan():
                if plan.table is not table:
                    return []
                replaced = (None,) * len(table.replaced_columns)
                return [(*row, *replaced, *((self._time,) if table.row_time else ()))]
            case Union() | CountLateRows():
                return below
            case Filter() | Project() | Unnest() | AssignWindows() | AssignExpiry():
                return [made for each in below for made in self._children(plan, each)]
            case AssignRowTime() | AssignEnd():
                time = self._time if isinstance(plan, AssignRowTime) else TIMESTAMP_MAX
                return [(*each, time) for each in below]
            case Aggregate() | WindowAggregate():
                arguments = [each for call in plan.aggregates for each in call.arguments]
                for each in below:
                    if not (isinstance(plan, WindowAggregate) and self._late(plan, each)):
                        self._values([*plan.keys, *arguments], each)
                        self._accumulate(plan.aggregates, each)
            case Over():
                self._over(plan, below)
            case _:
                pass
        return []

    def _over(self, plan: Over, rows: Sequence[Row]) -> None:
        for row in rows:
            self._values(plan.partition, row)
            self._accumulate([call.aggregate for call in plan.calls], row)

    def _accumulate(self, calls: Sequence[AggregateCall], row: Row) -> None:
        """Record the first function in Python that fails on the row alone."""
        for call in calls:
            if call.python is None or call.argument is None or self.found is not None:
                continue
            given = evaluate(call.argument, row)
            function: PythonAggregate | PythonProgram
            if call.function is AggregateFunction.PROGRAM:
                from fsql.compiler.functions.python_programs import registered_program

                function = registered_program(call.python)
            else:
                function = registered_aggregate(call.python)
            failure = None if given is None else function.failure(function.over([given]))
            if failure is not None:
                self._note(FailingPart(call, failure))

    def _late(self, plan: WindowAggregate, row: Row) -> bool:
        end = row[plan.window_end]
        assert isinstance(end, int)
        delay = closing_delay_us(plan)
        return self._time >= close_time(end, delay, grain_us(plan.input))

    def _children(
        self, plan: Filter | Project | Unnest | AssignWindows | AssignExpiry, row: Row
    ) -> Iterator[Row]:
        match plan:
            case Filter(predicate=predicate):
                if self._values([predicate], row) == (True,):
                    yield row
            case Project(expressions=expressions):
                values = self._values(expressions, row)
                if values is not None:
                    yield values
            case Unnest(array=array, ordinality_name=ordinality):
                values = self._values([array], row)
                if values is not None and isinstance(values[0], tuple):
                    for index, element in enumerate(values[0], 1):
                        yield (*row, element) if ordinality is None else (*row, element, index)
            case AssignWindows():
                yield from self._assign_windows(plan, row)
            case AssignExpiry():
                time = row[plan.time_column]
                assert isinstance(time, int)
                until = time + plan.wait_us
                yield (*row, expiry_time(until, self._time, plan.delay_us, plan.grain_us))

    def _assign_windows(self, plan: AssignWindows, row: Row) -> Iterator[Row]:
        time = row[plan.time_column]
        assert isinstance(time, int)
        since_offset = time + offset_of(time, plan.zone) - plan.offset_us
        last = since_offset // plan.slide_us
        first = (since_offset - plan.size_us) // plan.slide_us + 1
        starts = [plan.offset_us + k * plan.slide_us for k in range(first, last + 1)]
        try:
            windows = [window_bounds(start, plan.size_us, plan.zone) for start in starts]
        except TimestampRangeFailure as failure:
            self._note(FailingPart(plan, failure))
            return
        for window in windows:
            yield (*row, *window)

    def _values(self, expressions: Sequence[Expression], row: Row) -> Row | None:
        """Return the values over `row`; if one fails, record it and return None."""
        for expression in expressions:
            failing = _innermost(expression, row)
            if failing is not None:
                self._note(failing)
                return None
        return tuple(evaluate(expression, row) for expression in expressions)

    def _note(self, failing: FailingPart) -> None:
        if self.found is None and failing.failure.code == self._code:
            self.found = failing


def _innermost(expression: Expression, row: Row) -> FailingPart | None:
    """Return the innermost part of `expression` that fails on `row`; None if it does not fail."""
    try:
        evaluate(expression, row)
    except RowFailure as failure:
        for operand in _operands(expression, row):
            failing = _innermost(operand, row)
            if failing is not None:
                return failing
        if isinstance(expression, LambdaCall):
            return _in_lambda(expression, row)
        return FailingPart(expression, failure)
    return None


def _in_lambda(call: LambdaCall, row: Row) -> FailingPart | None:
    """Return the innermost part of the body of a lambda that fails on an element."""
    array, *others = [evaluate(argument, row) for argument in call.arguments]
    captured = [evaluate(part, row) for part in call.captured]
    assert isinstance(array, tuple)
    body = call.body.expression
    for element in array:
        inside = (*others, element, *captured)
        failing = _innermost(body, inside)
        if failing is not None:
            return failing
        if call.function is LambdaFunction.REDUCE:
            others = [evaluate(body, inside)]
    return None


def _operands(expression: Expression, row: Row) -> Iterator[Expression]:
    """Yield the operands that are evaluated, in order, until one fails."""
    match expression:
        case Case(branches=branches, otherwise=otherwise):
            for condition, result in branches:
                yield condition
                if evaluate(condition, row) is True:
                    yield result
                    return
            yield otherwise
        case Call(function=name) if name in LAZY:
            for operand in expression.arguments:
                yield operand
                value = evaluate(operand, row)
                if value is (name == "or") or (name == "coalesce" and value is not None):
                    return
        case _:
            yield from (each for each in children(expression) if isinstance(each, Expression))
