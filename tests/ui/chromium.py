"""Chromium for the tests: the one of this machine, or Debian's, which is installed the first time."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LOCK: Final = Path(__file__).parents[2] / ".servers" / "chromium.lock"


class MissingBrowserError(Exception):
    """There is no Chromium here, and it cannot be installed."""


def chromium() -> str:
    """Return the path of Chromium.

    Raises:
        MissingBrowserError: if there is none.
    """
    _LOCK.parent.mkdir(exist_ok=True)
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes run the tests
        found = _find()
        if found is None and shutil.which("apt-get") and os.geteuid() == 0:
            _install()
            found = _find()
    if found is None:
        raise MissingBrowserError("install Chromium: apt-get install chromium")
    return found


def _find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _install() -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "-qq", *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise MissingBrowserError(f"apt-get {command[0]} has failed: {done.stderr[-500:]}")
