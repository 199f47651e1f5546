"""The page of `fsql ui` as a child of the agent: started with it, and again if it ends."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.processes import end_with_its_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.deployment.directory import ClusterDirectory

VARIABLE: Final = "FSQL_UI"
"""With the value 0 no agent starts a page."""
END_SECONDS: Final = 5.0
START_SECONDS_MAX: Final = 30.0
BACKOFF_SECONDS_MAX: Final = 60.0
_NEEDED: Final = ("starlette", "uvicorn")
_POLL_SECONDS: Final = 0.05


def missing_package() -> str | None:
    """Return the name of a package without which there is no page, None if all are there."""
    return next((name for name in _NEEDED if importlib.util.find_spec(name) is None), None)


def is_wanted(cluster: ClusterDirectory) -> bool:
    """Return whether the agent of a cluster directory starts the page.

    Raises:
        FsqlError: E632, if the settings cannot be read.
    """
    return os.environ.get(VARIABLE) != "0" and cluster.page_settings().wanted


def wait_for_page(cluster: ClusterDirectory) -> str | None:
    """Return the address of the page once it answers; None if it does not for some time."""
    until = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < until and cluster.agent() is not None:
        address = cluster.page_address()
        if address is not None and address.agent == cluster.agent():
            return address.url
        time.sleep(_POLL_SECONDS)
    return None


class PageProcess:
    """The process of the page, as the agent controls it."""

    def __init__(self, cluster: ClusterDirectory, log: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._failures = 0
        self._next_at = 0.0
        self._available = missing_package() is None
        cluster.set_page_address(None)

    def reconcile(self) -> None:
        """Start the page if it should run, end it otherwise; to be called several times a second."""
        try:
            settings = self._cluster.page_settings()
            wanted = self._available and is_wanted(self._cluster)
        except FsqlError:  # the settings cannot be read: it stays as it is
            return
        if not wanted or settings.port != self._port:
            self.end()
            self._port, self._failures, self._next_at = settings.port, 0, 0.0
        if not wanted:
            return
        now = time.monotonic()
        if self._process is not None and self._process.poll() is not None:
            self._failures += 1
            delay = min(2.0**self._failures, BACKOFF_SECONDS_MAX)
            self._next_at = now + delay
            self.end()
            self._log(f"the page has ended; starting it again in {delay:.0f} s")
        if self._process is None and now >= self._next_at:
            self._start()

    def _start(self) -> None:
        command = ["ui", "--dir", str(self._cluster.path), "--port", str(self._port), "--of-agent"]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-P", "-m", "fsql", *command],
            stdin=subprocess.PIPE,  # it ends with the agent, when this pipe is closed
            start_new_session=True,
        )

    def end(self) -> None:
        """End it and wait until it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        end_with_its_input(process, END_SECONDS)
        self._cluster.set_page_address(None)
