"""How many rows each operator of a run in this process was given, and how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fsql.runtime.batch import Batch
from fsql.runtime.kernels.maps.few_rows import FewRows

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class OperatorMetric:
    """Seconds that an operator has taken, and rows that it was given; 0 for what is not given batches."""

    seconds: float = 0.0
    rows: int = 0


@dataclass(slots=True)
class OperatorMetrics:
    """An `Instrumentation` that adds up the metrics of each operator, by name."""

    operators: dict[str, OperatorMetric] = field(default_factory=dict)

    def __call__(self, operator: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return `work`, measured."""
        metric = self.operators.setdefault(operator, OperatorMetric())

        def measured(*arguments: object) -> Any:  # noqa: ANN401 - whatever the operator returns
            started = time.perf_counter()
            try:
                return work(*arguments)
            finally:
                metric.seconds += time.perf_counter() - started
                for argument in arguments:
                    if isinstance(argument, Batch | FewRows):
                        metric.rows += len(argument)

        return measured

    def slowest(self, count: int) -> list[tuple[str, OperatorMetric]]:
        """Return the operators that have taken most time, the slowest first."""
        # A copy: another thread may add an operator meanwhile.
        known = sorted(self.operators.copy().items(), key=lambda each: -each[1].seconds)
        return known[:count]
