"""The cost of losing a worker or the coordinator while documents flow, and how long output stops.

The process is killed, stopped for good, or stopped for `PAUSE_SECONDS`: longer than the failure timeout
and shorter than what the launcher bears.

Documents go on falling due while the job recovers, so what is measured is what a consumer would see.  The
index is one of many shelves, so there is much to remember; a backlog fills it before the clock starts.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from fsql.benchmarks.job_process import GATHERING, LOADING, OPENING, RUNNING, JobFailedError
from fsql.benchmarks.paced import Paced, run_paced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.benchmarks.job_process import JobProcess
    from fsql.benchmarks.paced import PacedRun

_SHELVES: Final = 1000
_STATE_BYTES_OF_A_DOCUMENT: Final = 3_000
"""The bytes that a document adds to the state on disk: 180 keys of word and shelf with counts; measured."""
_FIRST_KILL: Final = 0.3
_LAST_KILL: Final = 0.8
"""Between these parts of the time workers are killed."""
_POLL_SECONDS: Final = 0.005
PAUSE_SECONDS: Final = 7.0
_CAUGHT_UP_MS: Final = 20.0
"""A document that is out so soon does not wait for others any more."""


@dataclass(frozen=True, slots=True)
class Harm:
    """The parameters of a run, and how often what is done to which process."""

    rate: int
    seconds: float
    workers: int
    snapshot_ms: int
    state_mib: int
    kills: int
    kill: Literal["worker", "coordinator"] = "worker"
    by: Literal["kill", "stop", "pause"] = "kill"


@dataclass(slots=True)
class _Killer:
    """Kills a worker now and then, each time another one; or the coordinator."""

    harm: Harm
    at: list[float] = field(default_factory=list)
    known: dict[float, float] = field(default_factory=dict)
    """When the loss of a coordinator was known, by the time of its kill."""

    def __call__(self, job: JobProcess, start: float) -> None:
        parts = np.linspace(_FIRST_KILL, _LAST_KILL, self.harm.kills)
        for number, part in enumerate(parts):
            time.sleep(max(0.0, start + float(part) * self.harm.seconds - time.monotonic()))
            job.sample()
            if self.harm.kill == "coordinator":
                self._harm_coordinator(job)
                continue
            workers = _present(job, job.workers)
            self._harm_process(workers[number % len(workers)])

    def _harm_process(self, pid: int) -> None:
        # The time is taken before: the run may react before this process goes on.
        self.at.append(time.monotonic())
        os.kill(pid, signal.SIGKILL if self.harm.by == "kill" else signal.SIGSTOP)
        if self.harm.by == "pause":
            time.sleep(PAUSE_SECONDS)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _harm_coordinator(self, job: JobProcess) -> None:
        """Harm the coordinator; its loss is known when another one is started."""
        [coordinator] = _present(job, job.coordinators)
        self._harm_process(coordinator)
        if self.harm.by == "pause":
            return
        while job.is_running() and job.coordinators() in ([], [coordinator]):
            time.sleep(_POLL_SECONDS)
        self.known[self.at[-1]] = time.monotonic()


def _present(job: JobProcess, processes: Callable[[], list[int]]) -> list[int]:
    """Return processes of the run, ascending, once there are any: on a busy machine they may start late.

    Raises:
        JobFailedError: if the run ends before.
    """
    while not (found := sorted(processes())):
        if not job.is_running():
            job.wait()  # says how it has failed
            raise JobFailedError("the run ended before a process could be harmed")
        time.sleep(_POLL_SECONDS)
    return found


@dataclass(frozen=True, slots=True)
class Recovered:
    """A run with kills, and when they were."""

    run: PacedRun
    kills: Sequence[float]
    harm: Harm
    known: Mapping[float, float]

    def fields(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of a JSON object for each kill, then of one for the run."""
        for kill in self.kills:
            yield {
                "benchmark": "recovery",
                "kill": self.harm.kill,
                "by": self.harm.by,
                "killed_s": round(kill - self.run.start, 3),
            } | {
                name: None if at is None else round((at - kill) * 1000)
                for name, at in self._course(kill).items()
            }
        yield {
            "benchmark": "recovery",
            **self.run.fields(),
            "state_bytes": self.run.state_bytes,
            "longest_ms": round(float(self.run.late_ms.max()), 1),
        }

    def _course(self, kill: float) -> dict[str, float | None]:
        """Return when the job had come how far after a kill."""
        job = self.run.job
        gathering = job.phase_at(GATHERING, kill)
        # The next coordinator may speak before it is seen.
        detected = min(self.known.get(kill, gathering), gathering)
        gathered = job.phase_at(OPENING, gathering)
        loading = job.phase_at(LOADING, gathered)
        rows = [each.at for each in self.run.arrivals if each.at > loading]
        # Word of it may come later than what it does.
        running = min(job.phase_at(RUNNING, loading), *rows[:1])
        late = self.run.late_ms
        soon = (self.run.due > (rows[0] if rows else running)) & (late < _CAUGHT_UP_MS)
        return {
            "detected_ms": detected,
            "gathered_ms": gathered,
            "loading_ms": loading,
            "running_ms": running,
            "first_row_ms": rows[0] if rows else None,
            "caught_up_ms": float(self.run.arrived[soon][0]) if soon.any() else None,
        }


def recover(harm: Harm) -> Recovered:
    """Run it, and kill workers meanwhile.

    Raises:
        JobFailedError: if the run does not finish, or documents are missing.
    """
    killer = _Killer(harm)
    paced = Paced(
        harm.rate,
        harm.seconds,
        harm.workers,
        snapshot_ms=harm.snapshot_ms,
        parameters=(("shelves", _SHELVES),),
        backlog=(harm.state_mib << 20) // _STATE_BYTES_OF_A_DOCUMENT,
    )
    return Recovered(run_paced(paced, killer), killer.at, harm, killer.known)
