"""How many rows each operator was given, and how long it took, by the clock of the machine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fsql.runtime.batch import Batch
from fsql.runtime.kernels.maps.few_rows import FewRows
from fsql.runtime.metrics import OperatorMetrics

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class OperatorTimes:
    """An `Instrumentation` that adds up the metrics of each operator, by name."""

    operators: dict[str, OperatorMetrics] = field(default_factory=dict)

    def __call__(self, operator: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return `work`, measured."""
        metrics = self.operators.setdefault(operator, OperatorMetrics())

        def measured(*arguments: object) -> Any:  # noqa: ANN401 - whatever the operator returns
            started = time.perf_counter()
            try:
                return work(*arguments)
            finally:
                metrics.seconds += time.perf_counter() - started
                for argument in arguments:
                    if isinstance(argument, Batch | FewRows):
                        metrics.rows += len(argument)

        return measured
