"""The folders of Spark sessions among temporary files: also of those that failed or were killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX: Final = "fsql-spark-"
_LOCK: Final = "lock"
"""A file in the folder of each session, which the process of the session has locked."""

LOG: Final = "spark.log"

FAILED_PREFIX: Final = "fsql-spark-failed-"
"""The beginning of the names of folders with the logs of failed sessions, among temporary files."""

FAILED_MAX: Final = 5
"""How many of these folders are kept: a service whose Spark keeps failing would fill the disk."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """Make a folder for a session, and remove it at the end.

    The folders of sessions of this user whose processes were killed are removed, too.
    """
    folder, lock = _make()
    try:
        _remove_abandoned(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make() -> tuple[Path, int]:
    """Return a new folder, and the descriptor of its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():
            return folder, lock
        # Another process held the lock for a moment, and took the folder for an abandoned one.
        os.close(lock)


def _remove_abandoned(own: Path) -> None:
    for folder in own.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of another user, still in use, or removed at the same time
            if folder == own or folder.lstat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def keep_log(folder: Path) -> Path:
    """Move the log of a failed session out of its folder; return where it is now.

    The oldest logs of earlier failures of this user are removed.
    """
    kept = Path(tempfile.mkdtemp(prefix=FAILED_PREFIX))
    log = (folder / LOG).replace(kept / LOG)
    failed = []
    for each in kept.parent.glob(f"{FAILED_PREFIX}*"):
        with suppress(OSError):  # another process may remove it at the same time
            status = each.lstat()
            if status.st_uid == os.getuid() and each != kept:
                failed.append((status.st_mtime_ns, each))
    for _, each in sorted(failed, reverse=True)[FAILED_MAX - 1 :]:
        shutil.rmtree(each, ignore_errors=True)
    return log
