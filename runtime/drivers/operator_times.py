"""The rows that each operator has processed, and its elapsed and processor time."""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING, Any

from fsql.compiler.records import dataclass
from fsql.runtime.batch import Batch
from fsql.runtime.dataflow.fold_output import FoldOutput
from fsql.runtime.dataflow.metrics import MeasuredOperator
from fsql.runtime.kernels.maps.few_rows import FewRows
from fsql.runtime.kernels.maps.map_result import MapResult

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class OperatorTimes:
    """An `Instrumentation` that adds up the metrics of each operator, by name."""

    operators: dict[str, MeasuredOperator] = field(default_factory=dict)
    measures: bool = True

    def __call__(self, operator: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return `work`, measured."""
        metrics = self.operators.setdefault(operator, MeasuredOperator())

        def measured(*arguments: object) -> Any:  # noqa: ANN401 - whatever the operator returns
            started, busy = time.perf_counter(), time.thread_time()
            try:
                result = work(*arguments)
                metrics.rows_out += _rows_of(result)
                return result
            finally:
                metrics.calls += 1
                metrics.busy += time.thread_time() - busy
                metrics.seconds += time.perf_counter() - started
                for argument in arguments:
                    if isinstance(argument, Batch | FewRows):
                        metrics.rows += len(argument)

        return measured


def _rows_of(result: object) -> int:
    """Return the number of rows that an operator has returned; errors do not count."""
    match result:
        case MapResult(rows):
            return len(rows)
        case FoldOutput(rows):
            return sum(map(len, rows))
        case FewRows():
            return len(result)
        case _:
            return 0
