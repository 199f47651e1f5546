"""A step that fails with an error of the user: it is reported once, and nothing half done goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.assignment import FrontTask
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.optimizer.choose import choose
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Failure, Frame, Start
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.runtime.cluster.worker.events import ChunkRead, Loaded
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.ports import Chunk, SourceOffset
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    import pytest

EXAMPLE = EXAMPLES["inverted_index"]
PLAN = choose(EXAMPLE.compiled.graph, workers=1, fronts=EXAMPLE.fronts, policy=None)
BEGIN = Begin("job", 0, 1, "worker", 0, "here", ("there",), b"", b"", 5.0)
ERROR = FsqlError([Diagnostic("E506", "REPLACE makes more than 10 bytes")])


def test_an_error_of_a_step_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    node = WorkerNode("job", "worker", "there", Settings())
    node.step(Received(BEGIN, "here"), 0.0)
    node.step(Loaded(1, 0, PLAN, (FrontTask(0, 0, 0),), {}, Settings()), 0.0)
    node.step(Received(Frame("job", 0, 1, COORDINATOR, 0, 1, 0, (Start(),)), "here"), 0.0)
    assert node.readable(0.0) == [0]

    def fail(*_: object) -> None:
        raise ERROR

    monkeypatch.setattr(Worker, "read_first", fail)
    chunk = Chunk((), np.empty(0, np.int64), (), 0)
    [sent] = node.step(ChunkRead(0, chunk, SourceOffset(0, 1, 0)), 0.0)
    assert isinstance(sent, Transmit)
    assert isinstance(sent.what, Frame)
    assert sent.what.items == (Failure(diagnostics_bytes(ERROR)),)
    assert node.readable(0.0) == []
    assert node.step(ChunkRead(0, chunk, SourceOffset(0, 1, 0)), 0.0) == []
    again = [
        each.what
        for each in node.step(TimerFired(), 1.0)
        if isinstance(each, Transmit) and isinstance(each.what, Frame)
    ]
    assert again in ([], [sent.what])
