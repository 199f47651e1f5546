"""The stage pipeline: the compiled steps of a stage between two exchanges, and the targets of rows.

Every step is compiled for columns.  If all steps of a stage also have a form for a few rows
(`kernels.maps.few_rows`), a batch of a few rows takes that form through the whole stage.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.tick_plan import HEAD, ToFold, ToLate, ToSink, schema_of
from fsql.runtime.dataflow.filter_samples import FilterSamples
from fsql.runtime.dataflow.messages import Address, PortKind
from fsql.runtime.few_rows import are_few
from fsql.runtime.kernels.keyed.prepare import Evaluator
from fsql.runtime.kernels.maps import compile_map
from fsql.runtime.kernels.maps.few_rows import FewRows, compile_few, is_trivial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.tick_plan import Send, Stage
    from fsql.runtime.batch import Batch
    from fsql.runtime.dataflow.metrics import MeasuredOperator
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.kernels.maps.few_rows import FewFunction

    Instrument = Callable[[], "Instrumentation"]
    """Makes the instrumentation of one epoch."""
    Sends = list[tuple[Address | ToFold, Batch]]

_Result = TypeVar("_Result")


class Instrumentation(Protocol):
    """Wraps the work of operators, so that a driver can time it: the dataflow has no clock."""

    measures: bool
    """Whether it measures anything."""

    @property
    def operators(self) -> Mapping[str, MeasuredOperator]:
        """Return the measured times so far, by operator."""

    def __call__(self, operator: str, work: Callable[..., _Result]) -> Callable[..., _Result]:
        """Return `work`, or a function that does the same and measures it."""


class Uninstrumented:
    """Measures nothing."""

    measures = False
    operators: Mapping[str, MeasuredOperator] = MappingProxyType({})

    def __call__(self, operator: str, work: Callable[..., _Result]) -> Callable[..., _Result]:
        """Return `work` as it is."""
        del operator
        return work


uninstrumented: Final = Uninstrumented()


class StagePipeline:
    """A stage's steps, compiled."""

    def __init__(
        self,
        stage: Stage,
        barrier_stage: int,
        instrument: Instrumentation,
        encodings: Mapping[int, RowEncoding] = MappingProxyType({}),
    ) -> None:
        """Compile the steps of a stage; rows of the INSERTs with `encodings` are encoded after them."""
        self._barrier_stage = barrier_stage
        self._encode = {
            Address(barrier_stage, insert, PortKind.SINK): instrument("encode", encoding.encode)
            for insert, encoding in encodings.items()
        }
        self.rows = [0] * (1 + len(stage.steps))
        """The number of rows of the head, then of each step."""
        self._head_schema = schema_of(stage, HEAD)
        self._steps = [
            (
                step.input,
                instrument(step.origin, compile_map(step.function, schema_of(stage, step.input))),
            )
            for step in stage.steps
        ]
        self._few_steps = _few_steps(stage, instrument)
        self._samples = FilterSamples(stage, instrument)
        self._sends: list[tuple[int, Address | ToFold]] = [
            (send.step, self._address(send)) for send in stage.sends
        ]
        self.keys_of = {
            send.to: Evaluator(send.to.keys) for send in stage.sends if isinstance(send.to, ToFold)
        }

    def _address(self, send: Send) -> Address | ToFold:
        match send.to:
            case ToSink(insert):
                return Address(self._barrier_stage, insert, PortKind.SINK)
            case ToLate(window):
                return Address(self._barrier_stage, window, PortKind.LATE)
            case ToFold():
                return send.to

    def run(self, batch: Batch) -> tuple[Sends, list[Batch]]:
        """Return rows with their targets, and the errors; empty batches are left out."""
        self.rows[0] += len(batch)
        if self._few_steps is not None and are_few(batch.columns, len(batch)):
            try:
                return self._encode_sends(self._run_few(self._few_steps, batch)), []
            except RowFailure:
                pass
        results: dict[int, Batch] = {HEAD: batch}
        errors = []
        for index, (source, function) in enumerate(self._steps):
            result = function(results[source])
            results[index] = result.rows
            if result.errors is not None and len(result.errors):
                errors.append(result.errors)
            self.rows[1 + index] += len(result.rows)
        self._samples.take(results)
        sends = [(to, results[step]) for step, to in self._sends if len(results[step])]
        return self._encode_sends(sends), errors

    def _encode_sends(self, sends: Sends) -> Sends:
        """Encode the rows that workers encode; the result may have more batches."""
        if not self._encode:
            return sends
        encoded: Sends = []
        for to, batch in sends:
            encode = self._encode.get(to) if isinstance(to, Address) else None
            encoded += [(to, part) for part in ([batch] if encode is None else encode(batch))]
        return encoded

    def _run_few(self, steps: list[tuple[int, FewFunction]], batch: Batch) -> Sends:
        """Return rows with their targets.

        Raises:
            RowFailure: if a row fails.
        """
        results = {HEAD: FewRows.of(batch, self._head_schema)}
        for index, (source, function) in enumerate(steps):
            results[index] = function(results[source])
        for index in range(len(steps)):
            self.rows[1 + index] += len(results[index])
        return [(to, results[step].batch()) for step, to in self._sends if len(results[step])]


def _few_steps(stage: Stage, instrument: Instrumentation) -> list[tuple[int, FewFunction]] | None:
    """Return the steps for a few rows; None if a step has no such form, or all are too cheap for it."""
    steps = []
    for step in stage.steps:
        function = compile_few(step.function, schema_of(stage, step.input))
        if function is None:
            return None
        steps.append((step.input, instrument(step.origin, function)))
    return None if all(is_trivial(step.function) for step in stage.steps) else steps
