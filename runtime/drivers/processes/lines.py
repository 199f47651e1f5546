"""The lines that the launcher and its child processes exchange: JSON on the pipes between them.

A child reads the launcher's lines from its standard input, and ends when its standard input ends.  It writes
its own lines to its standard output, at least one each second.  A child that writes none for a long time is
considered hung.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.runtime.dataflow.metrics import Metrics  # noqa: TC001 - msgspec asks what fields are
from fsql.runtime.drivers.descriptors import wait_readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.cluster.coordinator.events import Finish, Progress
    from fsql.runtime.cluster.ticks.events import TickEnded
    from fsql.runtime.dataflow.barrier import Stopped

ALIVE_EVERY: Final = 0.5
"""The maximum seconds between two lines of a child."""

_READ_BYTES: Final = 1 << 16


class WorkerAddress(msgspec.Struct, frozen=True, tag=True):
    """From a worker: its address."""

    address: str


class Alive(msgspec.Struct, frozen=True, tag=True):
    """From a worker: a sign of life."""


class ProgressReport(msgspec.Struct, frozen=True, tag=True):
    """From the coordinator: the progress of the job; see `node.Progress`.

    `held` is the front with the least promise, and the time and origin of that promise.  The job currently
    needs `workers` workers, and does not need those at the addresses `idle`.
    """

    phase: str
    epoch: int
    detail: str
    metrics: Metrics
    begins: tuple[int, int]
    problems: tuple[str, ...] = ()
    held: tuple[int, int, int] | None = None
    workers: int = 0
    idle: tuple[str, ...] = ()


class TickReport(msgspec.Struct, frozen=True, tag=True):
    """From the coordinator: a proposed tick has ended; see `tick_events.TickEnded`.

    `position` is where it began, None if it was refused.
    """

    tick: int
    position: tuple[int, int] | None
    seconds: float
    moved_bins: int
    refused: str
    changes: tuple[str, ...] = ()

    def fields(self) -> dict[str, object]:
        """Return it as the fields of a JSON object."""
        state = "refused" if self.refused else "taken"
        return {"tick": self.tick, "state": state} | {
            name: getattr(self, name)
            for name in ("position", "seconds", "moved_bins", "refused", "changes")
        }


class StopRow(msgspec.Struct, frozen=True):
    """The row at which a job has stopped; see `barrier.Stopped`."""

    root: tuple[int, int]
    code: int
    dead_letter: tuple[int, int, int, int, str, str, str, str] | None


class Finished(msgspec.Struct, frozen=True, tag=True):
    """From the coordinator: the job is over; see `node.Finish`."""

    stopped: StopRow | None
    diagnostics: bytes | None
    refused: tuple[int, str] | None
    drained: bool = False


class WorkerExitNotice(msgspec.Struct, frozen=True, tag=True):
    """To the coordinator: the worker at an address has ended."""

    address: str


Line = WorkerAddress | Alive | ProgressReport | TickReport | Finished | WorkerExitNotice
_DECODER: Final = msgspec.json.Decoder(Line)


def encode_progress(progress: Progress) -> ProgressReport:
    """Return a node's progress as a line."""
    front, promised = progress.held
    begins = progress.begins.time, progress.begins.origin
    return ProgressReport(
        progress.phase,
        progress.epoch,
        progress.detail,
        progress.metrics,
        begins,
        progress.problems,
        (front, promised.time, promised.origin),
        progress.workers,
        progress.idle,
    )


def encode_tick(ended: TickEnded) -> TickReport:
    """Return the end of a tick as a line."""
    position = None if ended.refused else (ended.position.time, ended.position.origin)
    return TickReport(
        ended.tick, position, ended.seconds, ended.moved_bins, ended.refused, ended.changes
    )


def encode_finish(finish: Finish) -> Finished:
    """Return the end of a job as a line."""
    stopped = None if finish.stopped is None else _stop_row(finish.stopped)
    return Finished(stopped, finish.diagnostics, finish.refused, finish.drained)


def _stop_row(stopped: Stopped) -> StopRow:
    dead_letter = stopped.dead_letter
    fields = None
    if dead_letter is not None:
        fields = (
            dead_letter.row,
            dead_letter.line,
            dead_letter.byte,
            dead_letter.code,
            dead_letter.field,
            dead_letter.reason,
            dead_letter.excerpt,
            dead_letter.file,
        )
    return StopRow((stopped.root.time, stopped.root.origin), stopped.code, fields)


class LineWriter:
    """Writes lines to a descriptor; a closed pipe is ignored."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, line: Line) -> None:
        """Write a line."""
        data = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            return


class LineReader:
    """Reads the lines that have arrived on a descriptor, without waiting."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.ended = False
        self._rest = b""

    def lines(self) -> Iterator[Line]:
        """Return the lines that have arrived since the last call.

        Raises:
            msgspec.MsgspecError: if one is malformed.
        """
        while not self.ended and wait_readable([self.descriptor], 0.0):
            data = os.read(self.descriptor, _READ_BYTES)
            self.ended = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            yield from map(_DECODER.decode, lines)
