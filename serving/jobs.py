"""The jobs that are served, by name, and the thread that follows their results."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.job.results.job_results import JobResults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fsql.job.results.job_results import AsOf

_ROUND_SECONDS: Final = 0.01
_LOOK_SECONDS: Final = 1.0
_REWRITE_SECONDS: Final = 5.0


class FindStates(Protocol):
    """Returns the state directories of the jobs that are there now, by name."""

    def __call__(self) -> Mapping[str, Path]:
        """Return them."""


class ServedJobs:
    """The results of jobs; several threads may use it."""

    def __init__(self, find: FindStates, log: Callable[[str], None]) -> None:
        self._find = find
        self._log = log
        self._jobs: dict[str, JobResults] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="results", daemon=True)

    def start(self) -> None:
        """Begin to follow the jobs."""
        self.look()
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._over.set()
        self._thread.join()
        for job in self._jobs.values():
            job.close()

    def look(self) -> None:
        """Look which jobs there are."""
        found = self._find()
        with self._lock:
            for name in [each for each in self._jobs if found.get(each) != self._jobs[each].state]:
                self._jobs.pop(name).close()
            for name, state in found.items():
                if name not in self._jobs:
                    self._jobs[name] = JobResults(state, name)

    def names(self) -> list[str]:
        """Return the names of the jobs, sorted."""
        with self._lock:
            return sorted(self._jobs)

    def find(self, name: str) -> JobResults:
        """Return the results of a job.

        Raises:
            FsqlError: E633, if there is no such job.
        """
        with self._lock:
            found = self._jobs.get(name)
            names = sorted(self._jobs)
        if found is None:
            near = near_name(name, names)
            helps = (f'did you mean "{near}"?',) if near else (f"the jobs are {', '.join(names)}",)
            raise FsqlError([Diagnostic("E633", f'no job is served as "{name}"', helps=helps)])
        return found

    def positions(self) -> dict[str, AsOf]:
        """Return the positions of all jobs."""
        with self._lock:
            jobs = dict(self._jobs)
        return {name: job.as_of for name, job in sorted(jobs.items())}

    def _follow(self) -> None:
        rounds = 0
        while not self._over.wait(_ROUND_SECONDS):
            rounds += 1
            if rounds % round(_LOOK_SECONDS / _ROUND_SECONDS) == 0:
                with suppress(FsqlError, OSError):
                    self.look()
            with self._lock:
                jobs = dict(self._jobs)
            for name, job in jobs.items():
                try:
                    job.refresh()
                    if rounds % round(_REWRITE_SECONDS / _ROUND_SECONDS) == 0:
                        job.rewrite_if_long()
                except Exception as error:  # noqa: BLE001 - one job must not end the service of the others
                    if rounds % 1000 == 1:
                        self._log(f"job {name}: {type(error).__name__}: {error}")
