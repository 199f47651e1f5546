"""`fsql run` as a process of its own, watched from outside: its events, and what its processes use.

What processes use is read from `/proc`; where there is none, nothing is known of it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Any, Final, Self

from fsql.runtime.drivers.processes.process_role import (
    COORDINATOR,
    WORKER,
    processes_below,
    role_of,
)
from fsql.runtime.drivers.processes.starting import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

_SAMPLE_SECONDS: Final = 0.2
GATHERING: Final = "waiting for workers"
OPENING: Final = "reading the positions of outputs"
LOADING: Final = "loading state"
RUNNING: Final = "running"
_FINISHED: Final = "finished"
_ROLES: Final = (COORDINATOR, WORKER)


class JobFailedError(Exception):
    """The measured job did not finish; has its messages."""


@dataclass(frozen=True, slots=True)
class Event:
    """A line of JSON that the run printed, and when, in seconds of the machine's monotonic clock."""

    at: float
    fields: dict[str, Any]

    @property
    def phase(self) -> str | None:
        """Return the phase that the run has reached; None for other events."""
        return self.fields["phase"] if self.fields["event"] == "phase" else None


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of a process at a moment: CPU seconds, and bytes of resident memory."""

    role: str
    seconds: float
    resident_bytes: int


class JobProcess:
    """A run and its processes."""

    def __init__(
        self,
        script: Path,
        parameters: Mapping[str, object],
        workers: int,
        *flags: str,
        state: Path,
    ) -> None:
        """Start it with a state directory."""
        self.state = state
        flags = ("--workers", str(workers), *flags, "--state", str(state))
        defines = [f"-D{name}={value}" for name, value in parameters.items()]
        command = [*COMMAND, "run", str(script), "--json", *defines, *flags]
        self.events: list[Event] = []
        self.usages: dict[int, Usage] = {}
        self._before: dict[int, float] = {}
        self.peak_bytes = 0
        """The most resident memory of all processes at a sample; what two of them share counts twice."""
        self._samples: list[tuple[float, dict[str, float]]] = []
        """The time of each sample, and the processor time of each process then."""
        self.running = threading.Event()
        self._finished = threading.Event()
        self._process = Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)  # noqa: S603 - our own
        self._listener = threading.Thread(target=self._listen, name="fsql-bench-run", daemon=True)
        self._listener.start()

    def wait(self, follow: Callable[[], None] = lambda: None) -> None:
        """Wait for the end of the run; call `follow` at each sample.

        Raises:
            JobFailedError: if it is not the end of its input.
        """
        while not self._finished.wait(_SAMPLE_SECONDS) and self._process.poll() is None:
            self.sample()
            follow()
        code = self._process.wait()
        self._listener.join()
        if code != 0:
            output = "\n".join(json.dumps(each.fields) for each in self.events)
            raise JobFailedError(f"fsql run ended with {code}:\n{output}")

    def __enter__(self) -> Self:
        """Return it, running."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, with all its processes, if it has not ended."""
        self._process.terminate()
        self._process.wait()
        self._listener.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def is_running(self) -> bool:
        """Return whether the run has not ended yet."""
        return self._process.poll() is None

    def workers(self) -> list[int]:
        """Return the process ids of the running workers."""
        return [pid for pid, role in self._processes().items() if role == "worker"]

    def coordinators(self) -> list[int]:
        """Return the process id of the coordinator; empty while it is being replaced."""
        return [pid for pid, role in self._processes().items() if role == "coordinator"]

    def sample(self) -> None:
        """Record what the processes have used; the last sample of an ended process is kept."""
        usages = {pid: _usage(pid, role) for pid, role in self._processes().items()}
        living = {pid: usage for pid, usage in usages.items() if usage is not None}
        self.usages |= living
        resident = sum(usage.resident_bytes for usage in living.values())
        self.peak_bytes = max(self.peak_bytes, resident)
        self._samples.append((time.monotonic(), self.seconds_by_process()))

    def seconds_at_end(self) -> dict[str, float]:
        """Return the processor time of each process in the last third of the samples."""
        before = self._samples[len(self._samples) * 2 // 3][1] if self._samples else {}
        return _used_since(before, self.seconds_by_process())

    def seconds_by_interval(self, length: float) -> list[tuple[float, dict[str, float]]]:
        """Return the processor time of each process in each interval from where the run first ran.

        Each has the seconds at which it ends, and lasts `length` or a little longer.
        """
        begins = self.phase_at(RUNNING)
        found: list[tuple[float, dict[str, float]]] = []
        started, before = begins, dict[str, float]()
        for at, used in self._samples:
            if at - started >= length:
                found.append((at - begins, _used_since(before, used)))
                started, before = at, used
        return found

    def seconds(self) -> float:
        """Return the time from where the run first ran to its end."""
        return self.phase_at(_FINISHED) - self.phase_at(RUNNING)

    def phase_at(self, phase: str, since: float = 0.0) -> float:
        """Return when the run first reached a phase, after a given time.

        Raises:
            JobFailedError: if it never did.
        """
        for event in list(self.events):
            if event.at >= since and event.phase == phase:
                return event.at
        raise JobFailedError(f"the run never came to the phase: {phase}")

    def summary(self) -> dict[str, Any]:
        """Return the summary that the run printed at its end."""
        return self.events[-1].fields

    def forget_seconds(self) -> None:
        """Count the processor's seconds from now on."""
        self.sample()
        self._before = {pid: usage.seconds for pid, usage in self.usages.items()}

    def seconds_by_process(self) -> dict[str, float]:
        """Return the processor time in seconds of each process; workers in the order of their start."""
        seconds: dict[str, float] = {}
        for pid in sorted(self.usages):
            usage = self.usages[pid]
            name = usage.role
            if usage.role == "worker":
                name = f"worker-{sum(each.startswith('worker') for each in seconds)}"
            seconds[name] = round(usage.seconds - self._before.get(pid, 0.0), 3)
        return seconds

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            try:
                fields = json.loads(line)
            except ValueError:
                fields = {"event": "text", "text": line.decode(errors="replace")}
            self.events.append(Event(time.monotonic(), fields))
            if self.events[-1].phase == RUNNING:
                self.running.set()
            if self.events[-1].phase == _FINISHED:
                self.sample()  # while its processes are still there
                self._finished.set()

    def _processes(self) -> dict[int, str]:
        """Return the processes of the run that live, with what they are."""
        launcher = self._process.pid
        found = {launcher: "launcher"}
        for process in processes_below(launcher):
            role = role_of(process)
            if role in _ROLES:
                found[process] = role
        return found


def _used_since(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds - before.get(name, 0.0) for name, seconds in now.items()}


def _usage(pid: int, role: str) -> Usage | None:
    """Return the resources of a process, None if it has ended."""
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    ticks, pages = int(times[11]) + int(times[12]), int(times[21])
    return Usage(role, ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))
