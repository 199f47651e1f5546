"""Map functions over batches: each stateless function of the graph as one callable.

A callable takes a batch and returns the result rows, in the order of the rows that caused them, and the rows
that failed.  The functions of a fold's cycle (Side, Combine, Finish) are elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.expression import ColumnRef
from fsql.compiler.graph import (
    Compute,
    Expired,
    Explode,
    ExplodeAggregate,
    Late,
    LateWindows,
    MapFunction,
    OnTime,
    OnTimeSlices,
    Pad,
    Renumber,
    ScanRows,
    Select,
    ToExpiry,
    ToParts,
    ToRoot,
    ToRowTime,
    ToSlices,
    ToWindows,
)
from fsql.runtime.kernels.expressions import Program, compile_expressions
from fsql.runtime.kernels.expressions.vectors import first_failure, truth
from fsql.runtime.kernels.maps.map_result import MapResult, errors_at, succeeded, with_changed_path
from fsql.runtime.kernels.maps.parts import compile_to_parts
from fsql.runtime.kernels.maps.slices import (
    compile_late_windows,
    compile_on_time_slices,
    compile_to_slices,
)
from fsql.runtime.kernels.maps.windows import (
    append_root,
    append_row_time,
    compile_expired,
    compile_punctuality,
    compile_to_expiry,
    compile_to_windows,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.schema import Schema
    from fsql.runtime.batch import Batch


def compile_map(  # noqa: C901, PLR0911, PLR0912 - one line for each function
    function: MapFunction, input_schema: Schema
) -> Callable[[Batch], MapResult]:
    """Return the callable that applies `function` to batches of rows of `input_schema`."""
    match function:
        case Select():
            return _compile_select(function)
        case Compute():
            return _compile_compute(function)
        case Explode():
            from fsql.runtime.kernels.maps.explode import compile_explode

            return compile_explode(function)
        case ExplodeAggregate():
            from fsql.runtime.kernels.maps.lateral import compile_explode_aggregate

            return compile_explode_aggregate(function, len(input_schema))
        case ToWindows():
            return compile_to_windows(function)
        case ToSlices():
            return compile_to_slices(function)
        case OnTimeSlices():
            return compile_on_time_slices(function)
        case LateWindows():
            return compile_late_windows(function)
        case ToExpiry():
            return compile_to_expiry(function)
        case Expired():
            return compile_expired(function)
        case ToRowTime():
            return append_row_time
        case ToRoot():
            return append_root
        case ToParts():
            return compile_to_parts(function)
        case ScanRows() | Renumber() | Pad():
            return lambda batch: MapResult(with_changed_path(function, batch, batch.columns), None)
        case OnTime(closing=closing):
            return compile_punctuality(closing, keep_late=False)
        case Late(closing=closing):
            return compile_punctuality(closing, keep_late=True)
        case _:
            raise AssertionError(function)


def _compile_select(function: Select) -> Callable[[Batch], MapResult]:
    program = Program([function.predicate])

    def apply(batch: Batch) -> MapResult:
        (vector,) = program.run(batch.columns)
        kept = truth(vector)
        errors = errors_at(batch, vector.failed)
        if errors is not None:
            kept = kept & (vector.failed == 0)
        if kept.all():
            return MapResult(batch, errors)
        rows = np.flatnonzero(np.broadcast_to(kept, len(batch)))
        return MapResult(batch.take(rows), errors)

    return apply


def _compile_compute(function: Compute) -> Callable[[Batch], MapResult]:
    chosen = [e.index for e in function.expressions if isinstance(e, ColumnRef)]
    if len(chosen) == len(function.expressions):
        return lambda batch: MapResult(batch.with_columns([batch.columns[i] for i in chosen]), None)
    evaluate = compile_expressions(function.expressions)

    def apply(batch: Batch) -> MapResult:
        results = evaluate(batch.columns, len(batch))
        failed = None
        for result in results:
            failed = first_failure(failed, result.failed)
        rows = batch.with_columns([result.values for result in results])
        errors = errors_at(batch, failed)
        if errors is not None:
            assert failed is not None
            rows = rows.take(succeeded(failed, len(batch)))
        return MapResult(rows, errors)

    return apply
