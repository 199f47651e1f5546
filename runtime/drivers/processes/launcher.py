"""The launcher: starts the processes of a run, starts them again, and leaves nothing behind.

Whatever ends but for the end of the job is started again.  A process that says nothing for too long
hangs, and is killed; so no stopped process can go on later beside the one that took its place.
Children end when their standard input does: when the launcher ends, however that comes about, they end
too.
"""

from __future__ import annotations

import select
import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import START
from fsql.runtime.drivers.processes.lines import (
    Address,
    Course,
    Gone,
    Line,
    LineReader,
    LineWriter,
    Over,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HUNG_AFTER: Final = 10.0
"""A child that has written no line for so many seconds is killed."""

CRASHES_MAX: Final = 8
"""So many ends of processes without any progress in between end the run."""

_POLL_SECONDS: Final = 0.1
_END_SECONDS: Final = 2.0


class GivenUpError(Exception):
    """Processes keep ending and nothing gets done; says which, and how it ended."""


@dataclass(slots=True)
class _Child:
    """A process and the pipes to it."""

    command: Sequence[str]
    coordinator: bool
    process: subprocess.Popen[bytes] = field(init=False)
    reader: LineReader = field(init=False)
    writer: LineWriter = field(init=False)
    heard_at: float = field(init=False)
    address: str | None = None

    def start(self, *, again: bool = False) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [*self.command, *(("--again",) if again and self.coordinator else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.reader = LineReader(self.process.stdout.fileno())
        self.writer = LineWriter(self.process.stdin.fileno())
        self.heard_at = time.monotonic()
        self.address = None

    def end(self) -> None:
        """Kill it, if it lives, and forget it."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()


class Launcher:
    """The processes of one run."""

    def __init__(
        self,
        coordinator: Sequence[str],
        worker: Sequence[str],
        workers: int,
        on_course: Callable[[Course], None],
        check: Callable[[], None],
    ) -> None:
        """Take the commands of the coordinator and of each of `workers` workers.

        `on_course` is told how it goes; `check` is asked often, and may raise to end the run.
        """
        self._coordinator = _Child(coordinator, coordinator=True)
        self._children = [self._coordinator]
        self._children += [_Child(worker, coordinator=False) for _ in range(workers)]
        self._on_course = on_course
        self._check = check
        self._over: Over | None = None
        self._crashes = 0
        self._best = (*START, 0, 0)
        self._gone: deque[str] = deque()

    def run(self) -> Over:
        """Run until the coordinator says that the job is over.

        Raises:
            GivenUpError: if processes keep ending and nothing gets done.
        """
        try:
            for child in self._children:
                child.start()
            while self._over is None:
                self._round()
                self._check()
        finally:
            self._end_all()
        return self._over

    def _round(self) -> None:
        readers = [child.reader.descriptor for child in self._children]
        select.select(readers, [], [], _POLL_SECONDS)
        now = time.monotonic()
        for child in self._children:
            for line in child.reader.lines():
                child.heard_at = now
                self._heard(child, line)
            if self._over is not None:
                return
            ended = child.process.poll()
            if ended is not None:
                self._lost(child, f"ended with {ended}")
            elif now - child.heard_at > HUNG_AFTER:
                self._lost(child, f"has said nothing for {HUNG_AFTER:.0f} s")
        while self._gone and self._coordinator.process.poll() is None:
            self._coordinator.writer.write(Gone(self._gone.popleft()))

    def _heard(self, child: _Child, line: Line) -> None:
        match line:
            case Address(address):
                child.address = address
            case Course():
                self._note_what_is_done(line)
                self._on_course(line)
            case Over():
                self._over = line
            case _:
                pass

    def _note_what_is_done(self, course: Course) -> None:
        """See whether more is done than ever before.

        Each epoch counts from nothing, so what it does may be less than what one before it did.  But one
        that begins at a later snapshot has something behind it, also where nobody heard of that before
        a process ended.
        """
        done = (*course.begins, course.tally["rows_in"], course.tally["releases"])
        if course.epoch and done > self._best:
            self._best, self._crashes = done, 0

    def _lost(self, child: _Child, how: str) -> None:
        """Start a child again."""
        self._crashes += 1
        if self._crashes > CRASHES_MAX:
            what = "coordinator" if child.coordinator else "worker"
            raise GivenUpError(f"the {what} {how}")
        if child.address is not None:
            self._gone.append(child.address)
        child.end()
        child.start(again=True)

    def _end_all(self) -> None:
        """Let every process end, and see that it does."""
        started = [child for child in self._children if hasattr(child, "process")]
        if self._over is not None:
            for child in started:
                with suppress(subprocess.TimeoutExpired):
                    child.process.wait(_END_SECONDS)
        for child in started:
            child.end()
