"""The accumulator of each aggregate call, by its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.aggregate_algebra import algebra_of
from fsql.compiler.expression import OF_ORDER, AggregateCall, AggregateFunction
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.sqltypes import Kind
from fsql.runtime.kernels.accumulators.chosen_rows import ChosenRow, NthLast, NthValue
from fsql.runtime.kernels.accumulators.count import Count
from fsql.runtime.kernels.accumulators.distinct import Distinct
from fsql.runtime.kernels.accumulators.extremes import Extreme, RetractableExtreme
from fsql.runtime.kernels.accumulators.line_points import LinePoints
from fsql.runtime.kernels.accumulators.matches import Matches
from fsql.runtime.kernels.accumulators.moments import Bits, Moments, NumberStates, SlotStates
from fsql.runtime.kernels.accumulators.ordered_values import OrderedValues
from fsql.runtime.kernels.accumulators.program_states import ProgramStates
from fsql.runtime.kernels.accumulators.python_states import KeptRows, PythonStates
from fsql.runtime.kernels.accumulators.rows_in_order import Arrays
from fsql.runtime.kernels.accumulators.sums import DecimalSum, DoubleSum, IntegerSum

if TYPE_CHECKING:
    from fsql.runtime.kernels.accumulators.accumulator import Accumulator, Collector, Merging


def accumulator(call: AggregateCall, *, append_only: bool, shown: bool = True) -> Accumulator:
    """Return an empty accumulator for `call`; without `shown`, it is only read when its group closes."""
    by_value = call.function in OF_ORDER or (
        call.distinct and call.function is AggregateFunction.ARRAY_AGG
    )
    if by_value or (call.directions and not (append_only and call.function in CHOOSES)):
        return SlotStates(
            call,
            lambda: OrderedValues(call),
            shown=shown,
            keeps_nulls=call.function is AggregateFunction.ARRAY_AGG and not call.ignore_nulls,
            others_may_be_null=True,
        )
    if call.function is AggregateFunction.PYTHON:
        return _in_python(call, shown=shown)
    if call.function is AggregateFunction.PROGRAM:
        return ProgramStates(call)
    made = _new_accumulator(call, append_only=append_only, shown=shown)
    return Distinct(call, made) if call.distinct else made


def merging(call: AggregateCall) -> Merging:
    """Return an empty accumulator for the partials of a call that merges."""
    assert algebra_of(call).merges
    made: Any = accumulator(call, append_only=False)
    merging: Merging = made
    return merging


def _in_python(call: AggregateCall, *, shown: bool) -> Accumulator:
    """Return the accumulator of a function in Python.

    If rows may be removed and only the last result is visible, a step consists of the rows of a batch.  The
    rows are then kept and accumulated once, so that the calls of the function do not depend on the batches.
    """
    assert call.python is not None
    retracts = shown and registered_aggregate(call.python).retracts
    if retracts or not call.in_value_order:
        return PythonStates(call, shown=shown)
    return SlotStates(call, lambda: KeptRows(call), shown=shown, keeps_nulls=False)


CHOOSES: Final = frozenset({AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE})
"""The functions whose value is that of one of the rows."""


def by_total_order(call: AggregateCall) -> bool:
    """Return whether the result depends on the order of the rows."""
    if call.function is AggregateFunction.PYTHON:
        return not call.in_value_order
    if call.by_position or call.function is AggregateFunction.M4:
        return True
    ordered = CHOOSES | {AggregateFunction.ARRAY_AGG}
    return call.function in ordered and not (call.directions or call.distinct)


def collector(call: AggregateCall, of_call: Accumulator) -> Collector | None:
    """Return the accumulator of a call if it is a `Collector`; None for others."""
    if call.function is not AggregateFunction.ARRAY_AGG and call.chart is None:
        return None
    assert isinstance(of_call, Arrays | SlotStates | LinePoints)
    return of_call


def _new_accumulator(  # noqa: C901, PLR0911 - one line for each kind
    call: AggregateCall, *, append_only: bool, shown: bool
) -> Accumulator:
    """Return an empty accumulator of all values, whether distinct or not."""
    match call.function:
        case AggregateFunction.FIRST_VALUE | AggregateFunction.LAST_VALUE:
            if call.parameter is None:
                return ChosenRow(call)
            first = call.function is AggregateFunction.FIRST_VALUE
            return NthValue(call) if first else NthLast(call)
        case AggregateFunction.M4:
            return LinePoints(call, shown=shown)
        case AggregateFunction.MATCH_RECOGNIZE:
            return Matches(call)
        case AggregateFunction.BIT_AND | AggregateFunction.BIT_OR | AggregateFunction.BIT_XOR:
            return NumberStates(call, Bits, shown=shown)
        case AggregateFunction.COUNT:
            return Count()
        case AggregateFunction.SUM | AggregateFunction.AVG:
            assert call.argument is not None
            if call.argument.type.kind is Kind.DOUBLE:
                return DoubleSum(call)
            if call.argument.type.kind is Kind.DECIMAL:
                return DecimalSum(call)
            return IntegerSum(call)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return Extreme(call) if append_only else RetractableExtreme(call)
        case AggregateFunction.ARRAY_AGG:
            return Arrays(call)
        case _:
            return NumberStates(call, Moments, shown=shown)
