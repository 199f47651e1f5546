"""Runs a query on the model: from input rows to released changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.graph import Graph, LateSink, Sink, Source
from fsql.compiler.records import dataclass
from fsql.runtime.batch import origin_parts
from fsql.runtime.model.arrivals import arrivals
from fsql.runtime.model.changes import appended, changed, consolidate
from fsql.runtime.model.execution import READ_AHEAD, Execution, ModelMetrics
from fsql.runtime.model.front import Front
from fsql.runtime.model.item import Failure, Row
from fsql.runtime.model.routing import DEAD_LETTERS, FAILURES
from fsql.runtime.ports import VALUE_UNAVAILABLE, DeadLetter, unavailable_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.model.barrier import Group
    from fsql.runtime.model.item import Item, Values


class Released(NamedTuple):
    """A row that a sink received; `operation` is None if the rows of the sink have no label."""

    root: Root
    operation: str | None
    row: Values


class LateRow(NamedTuple):
    """A row that arrived after its window had closed; the weight of a retraction is -1."""

    root: Root
    row: Values
    weight: int


class DeadLetterItem(NamedTuple):
    """A malformed row of a table that continues after malformed rows."""

    root: Root
    dead_letter: DeadLetter


class Stop(NamedTuple):
    """The error at which the run stopped."""

    code: int
    root: Root
    message: str


@dataclass(frozen=True)
class ModelResult:
    """The output of a job, each list in order.

    `sinks` has a list for each INSERT, `late` one for each window operator of the graph.
    """

    sinks: tuple[tuple[Released, ...], ...]
    late: tuple[tuple[LateRow, ...], ...]
    dead_letters: tuple[DeadLetterItem, ...]
    error: Stop | None
    metrics: ModelMetrics


def run(
    graph: Graph,
    inputs: Mapping[int, Sequence[Sequence[Values | DeadLetter]]],
    *,
    seed: int,
    workers: int = 2,
    read_ahead: int = READ_AHEAD,
    on_step: Callable[[], None] = lambda: None,
) -> ModelResult:
    """Execute `graph` and return its output; only the metrics depend on seed and workers.

    `inputs` has the splits of each table, by its ordinal, in the order of the splits' names; the seed
    determines the order in which messages arrive, the workers own equal hash ranges, and a front emits at
    most `read_ahead` rows above min time.  `on_step` is called after each message, and may
    raise to end the run.
    """
    fronts = [
        Front(index, arrivals(vertex.operation.table, number, rows))
        for index, vertex in enumerate(graph.vertices)
        if isinstance(vertex.operation, Source)
        for number, rows in enumerate(inputs.get(vertex.operation.table.ordinal, ()))
    ]
    outlet = Outlet(graph)
    execution = Execution(
        graph, fronts, outlet.release, seed=seed, workers=workers, read_ahead=read_ahead
    )
    execution.run(on_step)
    return outlet.result(execution.metrics)


class Outlet:
    """The output after the barrier: converts final groups into released rows."""

    def __init__(self, graph: Graph) -> None:
        self._ports = {index: vertex.operation for index, vertex in enumerate(graph.vertices)}
        operations = self._ports.values()
        sinks = sum(isinstance(operation, Sink) for operation in operations)
        windows = sum(isinstance(operation, LateSink) for operation in operations)
        self._sinks: list[list[Released]] = [[] for _ in range(sinks)]
        self._late: list[list[LateRow]] = [[] for _ in range(windows)]
        self._dead_letters: list[DeadLetterItem] = []
        self._stop: Stop | None = None
        self._rejecting = {
            operation.table.ordinal
            for operation in operations
            if isinstance(operation, Source) and not operation.table.stops_on_error
        }

    def release(self, root: Root, group: Group) -> bool:
        """Release the group of `root`; return False and release nothing if it contains an error."""
        failures = _remaining(group.pop(FAILURES, []))
        table, _, row = origin_parts(root.origin)
        if table in self._rejecting and VALUE_UNAVAILABLE in [code for code, _ in failures]:
            failures = [each for each in failures if each[0] != VALUE_UNAVAILABLE]
            if not failures:
                self._dead_letters.append(DeadLetterItem(root, unavailable_row(row)))
        if failures:
            code, message = min(failures)
            self._stop = Stop(code, root, message)
            return False
        for item in group.pop(DEAD_LETTERS, []):
            assert isinstance(item.payload, DeadLetter)
            self._dead_letters.append(DeadLetterItem(root, item.payload))
        for port, items in group.items():
            rows = [item.payload for item in items if isinstance(item.payload, Row)]
            match self._ports[port]:
                case Sink() as sink:
                    changes = appended(sink, rows) if sink.append_only else changed(sink, rows)
                    self._sinks[sink.insert] += [Released(root, *change) for change in changes]
                case LateSink(window=window):
                    late = consolidate(rows).values()
                    self._late[window] += [LateRow(root, row, weight) for row, weight in late]
                case operation:
                    raise AssertionError(operation)
        return True

    def result(self, metrics: ModelMetrics) -> ModelResult:
        """Return all released output."""
        return ModelResult(
            tuple(map(tuple, self._sinks)),
            tuple(map(tuple, self._late)),
            tuple(self._dead_letters),
            self._stop,
            metrics,
        )


def _remaining(items: Iterable[Item]) -> list[tuple[int, str]]:
    """Return the errors whose weights do not add up to 0: codes and messages."""
    weights: dict[tuple[int, str], int] = {}
    for item in items:
        assert isinstance(item.payload, Failure)
        error = item.payload.code, item.payload.message
        weights[error] = weights.get(error, 0) + item.payload.weight
    return [error for error, weight in weights.items() if weight]
