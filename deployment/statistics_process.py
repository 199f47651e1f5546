"""The statistics service as a child of the agent: started if it is requested, and restarted if it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.directory import StatisticsSettings
from fsql.deployment.processes import (
    STILL_SECONDS,
    StillProcesses,
    end_with_its_input,
    kill_with_descendants,
)
from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.runtime.drivers.spark.master import MASTER_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.deployment.directory import ClusterDirectory

END_SECONDS: Final = 8.0
"""How long the service may take to end before it is killed; in both cases Spark ends with it."""
BACKOFF_SECONDS_MAX: Final = 60.0
SETTLED_SECONDS: Final = 120.0
"""A service that has run for this long is restarted immediately."""
_LOG_BYTES_MAX: Final = 16 << 20
_LIST_SECONDS: Final = 5.0
"""How often the processes of the service are looked up."""


class StatisticsProcess:
    """The process of the service, as the agent controls it."""

    def __init__(self, cluster: ClusterDirectory, log: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = StatisticsSettings()
        self._failures = 0
        self._began = self._next_at = 0.0
        self._still = StillProcesses(wait_briefly=False)
        self._below: list[int] = []
        self._listed_at = float("-inf")

    def reconcile(self) -> None:
        """Start the service if it should run, end it otherwise; to be called several times a second."""
        try:
            wanted = self._cluster.statistics_settings()
        except FsqlError as error:
            if self._settings.collector != "built-in":
                self._log(f"statistics: {error}")
            wanted = StatisticsSettings()
        if wanted != self._settings:
            self.end()
            self._settings, self._failures, self._next_at = wanted, 0, 0.0
        if wanted.collector == "built-in":
            return
        now = time.monotonic()
        self._kill_if_still(now)
        if self._process is not None and self._process.poll() is not None:
            self._back_off(now)
        if self._process is None and now >= self._next_at:
            self._start(wanted.master, now)

    def _kill_if_still(self, now: float) -> None:
        """Kill the service if it, or the Java process of its Spark, is stopped."""
        if self._process is None:
            return
        pid = self._process.pid
        if now - self._listed_at >= _LIST_SECONDS:
            self._listed_at, self._below = now, processes_below(pid)
        if self._still.find([pid, *self._below], now):
            self._log(f"the statistics service has stood still for {STILL_SECONDS:.0f} s: killed")
            kill_with_descendants(pid)
            self._process.wait()

    def _back_off(self, now: float) -> None:
        self._failures = 1 if now - self._began > SETTLED_SECONDS else self._failures + 1
        delay = min(2.0 ** (self._failures - 1), BACKOFF_SECONDS_MAX)
        self._next_at = now + delay
        self.end()
        log = self._cluster.statistics_log
        self._log(
            f"the statistics service has ended, see {log}; starting it again in {delay:.0f} s"
        )

    def _start(self, master: str, now: float) -> None:
        path = self._cluster.statistics_log
        with suppress(FileNotFoundError):
            if path.stat().st_size > _LOG_BYTES_MAX:
                path.replace(path.with_suffix(".log.1"))
        command = ["stats", "serve", "--dir", str(self._cluster.path)]
        try:
            log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self._log(f"statistics: {error}")
            self._next_at = now + BACKOFF_SECONDS_MAX
            return
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-P", "-m", "fsql", *command, "--until-end-of-input"],
                stdin=subprocess.PIPE,  # it ends with the agent, when this pipe is closed
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, MASTER_VARIABLE: master},  # it may have a token
            )
        finally:
            os.close(log)
        self._began = now

    def end(self) -> None:
        """End it and wait until it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        end_with_its_input(process, END_SECONDS)
