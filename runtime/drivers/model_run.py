"""Runs a job on the model: reads all splits, executes the graph item by item, writes the results.

The model defines what a query means.  It is slow and keeps all input in memory: it serves for small input,
for checking the engine, and for learning.
"""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.graph import LateSink, Sink, Source
from fsql.compiler.records import dataclass
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import END, Batch, origin_parts
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released, Stopped, in_order
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.drivers.chunk_rows import rows_of_chunk
from fsql.runtime.drivers.local import CHUNK_ROWS
from fsql.runtime.model.run import run
from fsql.runtime.ports import OPERATIONS, Chunk, DeadLetter, Release, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from fsql.compiler.expression import Value
    from fsql.compiler.graph import Graph
    from fsql.compiler.logical import Table
    from fsql.compiler.schema import Schema
    from fsql.runtime.batch import Root
    from fsql.runtime.drivers.local import Edges
    from fsql.runtime.model.run import ModelResult
    from fsql.runtime.ports import Split

    Values = tuple[Value, ...]
    Inputs = dict[int, list[list[Values | DeadLetter]]]

_SEED = 1
"""Decides the order in which messages arrive; released rows do not depend on it."""


@dataclass(slots=True)
class ModelRun:
    """One run of a job on the model.  `run` returns when the job has ended or stopped."""

    graph: Graph
    edges: Edges
    workers: int = 1
    metrics: Metrics = field(default_factory=Metrics)
    stopped: Stopped | None = None

    def run(self, on_progress: Callable[[Metrics], None] = lambda _: None) -> Metrics:
        """Run to the end; call `on_progress` after every chunk that was read, and at the end.

        Raises:
            FsqlError: if a source or a sink fails.
        """
        started = time.monotonic()

        def progress() -> None:
            self.metrics.seconds = time.monotonic() - started
            on_progress(self.metrics)

        inputs: Inputs = {}
        for vertex in self.graph.vertices:
            if isinstance(vertex.operation, Source):
                table = vertex.operation.table
                splits = self.edges.splits[table.ordinal]
                inputs[table.ordinal] = [self._rows(split, table, progress) for split in splits]
        result = run(self.graph, inputs, seed=_SEED, workers=self.workers, on_step=progress)
        self._write(result)
        self._count(result, inputs)
        progress()
        return self.metrics

    def _rows(
        self, split: Split, table: Table, progress: Callable[[], None]
    ) -> list[Values | DeadLetter]:
        """Return all rows of a split, with malformed rows at their positions."""
        rows: list[Values | DeadLetter] = []
        reader = split.open()
        try:
            while (chunk := reader.read(CHUNK_ROWS)) is not None:
                if isinstance(chunk, Wait):
                    time.sleep(max(0.0, chunk.seconds))
                else:
                    rows += rows_of_chunk(chunk, table.columns)
                    self._count_chunk(table, chunk)
                progress()
        finally:
            reader.close()
        return rows

    def _count_chunk(self, table: Table, chunk: Chunk) -> None:
        rows, source = len(chunk.rows) + len(chunk.dead_letters), self.metrics.source(table.name)
        self.metrics.rows_in += rows
        self.metrics.bytes_in += chunk.bytes_read
        self.metrics.unknown_fields += chunk.unknown_fields
        self.metrics.nulled_fields += chunk.nulled_fields
        source.rows += rows
        source.bytes += chunk.bytes_read

    def _write(self, result: ModelResult) -> None:
        late, tables = [], {}
        for vertex in self.graph.vertices:
            match vertex.operation:
                case Source(table=table):
                    tables[table.ordinal] = table
                case Sink(insert=insert, table=table) if result.sinks[insert]:
                    roots, labels, rows = zip(*result.sinks[insert], strict=True)
                    operations = None
                    if labels[0] is not None:
                        operations = np.array(list(map(OPERATIONS.index, labels)), np.int8)
                    columns = _columns(rows, vertex.schema)
                    release = Release(columns, operations, *_roots(roots))
                    self.edges.outputs.take(Released(insert, release))
                    self.metrics.rows_out += len(rows)
                    self.metrics.sink(table.name).rows += len(rows)
                case LateSink(window=window) if result.late[window]:
                    roots, rows, _ = zip(*result.late[window], strict=True)
                    columns = _columns(rows, vertex.schema)
                    late.append(LateRows(window, Batch(columns, *_roots(roots), ())))
                    self.metrics.count_late(window, len(rows))
        for each in in_order(late):
            self.edges.outputs.take(each)
        if result.dead_letters:
            self.edges.outputs.take(DeadLetters(tuple(result.dead_letters)))
            self.metrics.count_dead_letters(result.dead_letters, tables)
        self.edges.outputs.advance(END if result.error is None else result.error.root)

    def _count(self, result: ModelResult, inputs: Inputs) -> None:
        counted = result.metrics
        self.metrics.messages = counted.messages
        self.metrics.acknowledgements = counted.acknowledgements
        self.metrics.rows_redone = counted.repairs
        self.metrics.releases = counted.releases
        if result.error is not None:
            root = result.error.root
            self.stopped = Stopped(root, result.error.code, _malformed_at(root, inputs))


def _malformed_at(root: Root, inputs: Inputs) -> DeadLetter | None:
    """Return the malformed row at a position, None if the row there is well-formed."""
    if root.origin < 0:
        return None
    table, split, row = origin_parts(root.origin)
    found = inputs[table][split][row]
    return found if isinstance(found, DeadLetter) else None


def _columns(rows: Sequence[Values], columns: Schema) -> list[pa.Array]:
    values = zip(*rows, strict=True)
    return [to_arrow(each, column.type) for each, column in zip(values, columns, strict=True)]


def _roots(roots: Sequence[Root]) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([root.time for root in roots], np.int64),
        np.array([root.origin for root in roots], np.int64),
    )
