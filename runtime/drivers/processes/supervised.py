"""The launcher as seen by a process that it has started: two pipes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator.events import Finish, Progress
from fsql.runtime.cluster.ticks.events import TickEnded
from fsql.runtime.drivers.processes.lines import (
    ALIVE_EVERY,
    Alive,
    LineReader,
    LineWriter,
    WorkerAddress,
    WorkerExitNotice,
    encode_finish,
    encode_progress,
    encode_tick,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class Supervisor:
    """The pipes from and to the launcher."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reader = LineReader(reading)
        self._writer = LineWriter(writing)
        self._written_at = time.monotonic()
        self._exited: list[str] = []

    @classmethod
    def of_worker(cls, address: str) -> Supervisor:
        """Return the launcher on standard input and output; report the address of this worker to it."""
        supervisor = cls(sys.stdin.fileno(), sys.stdout.fileno())
        supervisor._writer.write(WorkerAddress(address))
        return supervisor

    def alive(self) -> bool:
        """Return whether the launcher is alive; also send it the sign of life that is due."""
        now = time.monotonic()
        if now - self._written_at > ALIVE_EVERY:
            self._written_at = now
            self._writer.write(Alive())
        self._listen()
        return not self._reader.ended

    def _listen(self) -> None:
        for line in self._reader.lines():
            match line:
                case WorkerExitNotice(address):
                    self._exited.append(address)
                case _:
                    pass

    @property
    def descriptor(self) -> int | None:
        """Return a descriptor that is readable when the launcher has written or ended, if there is one."""
        return self._reader.descriptor

    def take_exited_workers(self) -> Sequence[str]:
        """Return the addresses of workers that have ended since the last call."""
        self._listen()
        exited, self._exited = self._exited, []
        return exited

    def report(self, effect: Progress | Finish | TickEnded) -> None:
        """Report progress, the end of a tick, or the end of the job."""
        self._written_at = time.monotonic()
        match effect:
            case Progress():
                self._writer.write(encode_progress(effect))
            case TickEnded():
                self._writer.write(encode_tick(effect))
            case Finish():
                self._writer.write(encode_finish(effect))
