"""The launcher: starts the processes of a run, restarts them, and leaves none behind.

A process that ends before the job does is started again.  A process that writes nothing for too long is
considered hung and is killed, so that no stopped process can continue beside its replacement.  It may
be in a long step that its replacement would have to repeat, so one that computes meanwhile is waited for.

The launcher detects immediately that a process has ended.  It reports an ended worker to the coordinator; if
the coordinator has ended, it calls `on_coordinator_ended`, which ends the lease.

The coordinator reports how many workers the job needs, which ticks change.  The launcher starts missing
workers.  While the job has enough of them, the launcher ends those of its workers that take no part in it.

Child processes end when their standard input ends.  So they end with the launcher, however it ends.
"""

from __future__ import annotations

import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.batch import START
from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.cluster.members.failure_detector import FailureDetector, has_computed
from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.lines import (
    Finished,
    Line,
    LineReader,
    LineWriter,
    ProgressReport,
    TickReport,
    WorkerAddress,
    WorkerExitNotice,
)
from fsql.runtime.drivers.processes.process_role import busy_seconds
from fsql.runtime.drivers.processes.starting import start_process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.drivers.processes.starting import PipedProcess, StartProcess

HUNG_SECONDS: Final = 10.0
"""Seconds without a line after which a child is killed."""

HUNG_SECONDS_MAX: Final = 640.0
"""Seconds after which it is killed although it computes."""

START_SECONDS_MAX: Final = 120.0
"""Seconds until the first line: a child imports many modules, and the machine may be busy."""

CRASHES_MAX: Final = 8
"""Number of processes that may end without progress in between; after that, the run is given up."""

_POLL_SECONDS: Final = 0.1
_END_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 2.0
"""How long a coordinator may take to finish its step when the run is ended before the job is over."""


class GivenUpError(Exception):
    """Processes keep ending without progress; the message says which process, and how it ended."""


@dataclass(slots=True, eq=False)
class _Child:
    """A process and the pipes to it."""

    command: Sequence[str]
    coordinator: bool
    inherits: Sequence[int] = ()
    start_process: StartProcess = start_process
    process: PipedProcess = field(init=False)
    reader: LineReader = field(init=False)
    writer: LineWriter = field(init=False)
    address: str | None = None
    sampled: tuple[float, float] | None = None
    """The processor time that it had used at a time in its present silence."""

    def start(self, *, restarted: bool) -> None:
        """Start a process."""
        command = [*self.command, *(("--restarted",) if restarted and self.coordinator else ())]
        self.process = self.start_process(command, self.inherits)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.reader = LineReader(self.process.stdout.fileno())
        self.writer = LineWriter(self.process.stdin.fileno())
        self.address = self.sampled = None

    def close_input(self) -> None:
        """Close its input, so that it ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> None:
        """Kill it, if it lives, and release its pipes."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()


class Launcher:
    """The processes of one run."""

    def __init__(  # noqa: PLR0913 - the parts of a run
        self,
        coordinator: Sequence[str],
        worker: Sequence[str],
        workers: tuple[int, int],
        on_progress: Callable[[ProgressReport], None],
        check: Callable[[], None],
        *,
        inherits: Sequence[int] = (),
        on_coordinator_ended: Callable[[], None] = lambda: None,
        on_tick: Callable[[TickReport], None] = lambda _: None,
        start_process: StartProcess = start_process,
    ) -> None:
        """Take the commands of the coordinator and of each worker.

        `workers` has the number of workers, and how many of them are started elsewhere.
        `on_progress` receives progress; `check` is called often, and may raise to end the run.  Every
        coordinator inherits the descriptors `inherits`.  `on_coordinator_ended` is called when the process of
        one has ended, before the next one is started.  `start_process` starts all processes.
        `on_tick` receives each tick that has ended.
        """
        self._worker = worker
        started, self._external = workers[0] - workers[1], workers[1]
        self._start_process = start_process
        self._coordinator = _Child(
            coordinator, coordinator=True, inherits=inherits, start_process=start_process
        )
        self._children = [self._coordinator, *(self._new_worker() for _ in range(started))]
        self._on_progress = on_progress
        self._check = check
        self._on_coordinator_ended = on_coordinator_ended
        self._on_tick = on_tick
        self._finished: Finished | None = None
        self._report: ProgressReport | None = None
        """The last report, until the workers are adjusted to it."""
        self._crashes = 0
        self._starting: FailureDetector[_Child] = FailureDetector(START_SECONDS_MAX)
        """Watches processes that have written no line yet."""
        self._started: FailureDetector[_Child] = FailureDetector(HUNG_SECONDS)
        self._best = (*START, 0, 0)
        self._exited: deque[str] = deque()

    def run(self) -> Finished:
        """Run until the coordinator reports the end of the job.

        Raises:
            GivenUpError: if processes end repeatedly without progress.
        """
        try:
            for child in self._children:
                self._start(child)
            while self._finished is None:
                self._round()
                self._check()
        finally:
            self._end_all()
        return self._finished

    def _round(self) -> None:
        children = list(self._children)
        wait_readable([child.reader.descriptor for child in children], _POLL_SECONDS)
        now = time.monotonic()
        for child in children:
            # Polled before its lines are read, so that those of an ended process are complete.
            ended = child.process.poll()
            for line in child.reader.lines():
                self._on_line(child, line, now)
            if self._finished is not None:
                return
            if ended is not None:
                self._on_lost(child, f"ended with {ended}")
            else:
                self._end_if_hung(child, now)
        while self._exited and self._coordinator.process.poll() is None:
            self._coordinator.writer.write(WorkerExitNotice(self._exited.popleft()))
        self._adjust_workers()

    def _new_worker(self) -> _Child:
        return _Child(self._worker, coordinator=False, start_process=self._start_process)

    def _start(self, child: _Child, *, restarted: bool = False) -> None:
        child.start(restarted=restarted)
        self._starting.watch([child], time.monotonic())

    def _end_if_hung(self, child: _Child, now: float) -> None:
        if self._starting.has_failed(child, now):
            self._on_lost(child, f"has been silent for {self._starting.timeout:.0f} s")
        elif (seconds := self._started.silence(child, now)) >= HUNG_SECONDS / 2:
            self._watch_silent(child, seconds, now)

    def _watch_silent(self, child: _Child, seconds: float, now: float) -> None:
        """End a silent process, unless it has computed in the last half of the time that it may be silent."""
        busy = busy_seconds(child.process.pid)
        if child.sampled is None:
            child.sampled = now, busy
        since, busy_before = child.sampled
        if now - since < HUNG_SECONDS / 2:
            return
        if seconds < HUNG_SECONDS_MAX and has_computed(now - since, busy - busy_before):
            child.sampled = now, busy
        else:
            self._on_lost(child, f"has been silent for {seconds:.0f} s")

    def _on_line(self, child: _Child, line: Line, now: float) -> None:
        self._starting.forget(child)
        self._started.watch([child], now)
        child.sampled = None
        match line:
            case WorkerAddress(address):
                child.address = address
            case ProgressReport():
                self._record_progress(line)
                self._report = line
                self._on_progress(line)
            case TickReport():
                self._on_tick(line)
            case Finished():
                self._finished = line
            case _:
                pass

    def _adjust_workers(self) -> None:
        """Start the additional workers that the job needs, and end those that it does not need any more."""
        report, self._report = self._report, None
        if report is None or not report.workers:
            return
        workers = len(self._children) - 1
        needed = report.workers - self._external
        while workers < needed:
            workers += 1
            child = self._new_worker()
            self._children.append(child)
            self._start(child)
        if report.phase != Phase.RUNNING.value:
            return
        for child in self._children[1:]:
            if workers > needed and child.address in report.idle:
                workers -= 1
                self._children.remove(child)
                self._forget(child)
                child.end()

    def _forget(self, child: _Child) -> None:
        """Stop watching a process, and report the address that it had."""
        self._starting.forget(child)
        self._started.forget(child)
        if child.address is not None:
            self._exited.append(child.address)

    def _record_progress(self, report: ProgressReport) -> None:
        """Reset the count of crashes if the job is further than in any earlier report.

        Each epoch counts from zero, so its counts may be lower than those of an earlier one.  An epoch that
        begins at a later snapshot has made progress, even if no report of it came before a process ended.
        """
        done = (*report.begins, report.metrics.rows_in, report.metrics.releases)
        if report.epoch and done > self._best:
            self._best, self._crashes = done, 0

    def _on_lost(self, child: _Child, how: str) -> None:
        """Replace a child."""
        self._crashes += 1
        if self._crashes > CRASHES_MAX:
            what = "coordinator" if child.coordinator else "worker"
            raise GivenUpError(f"the {what} {how}")
        self._forget(child)
        child.end()
        if child.coordinator:
            self._on_coordinator_ended()
        self._start(child, restarted=True)

    def _end_all(self) -> None:
        """End all processes, and wait for them.

        A run that is ended early lets its coordinator finish its step.  Of the rows below a position, some
        outputs would have theirs and others not.
        """
        started = [child for child in self._children if hasattr(child, "process")]
        finishing, seconds = started, _END_SECONDS
        if self._finished is None:
            finishing, seconds = started[:1], _STEP_SECONDS
        for child in finishing:
            child.close_input()
        for child in finishing:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(seconds)
        for child in started:
            child.end()
