"""Files that jobs write: one job at a time writes a file, and none overwrites rows unless that is requested.

The lock is advisory (`flock`), on the file itself, so that it needs no separate file and ends with the
process that holds it.  Child processes that inherit the descriptor hold the lock as well.  Devices and FIFOs
are not locked, because they keep no rows.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import COMPRESSION_SUFFIXES
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_LOCKS: Final = Path("/proc/locks")
_PROCESSES: Final = Path("/proc")
_END_SECONDS: Final = 15.0
"""The time for processes to end after their launcher was killed; they hold its locks until then."""
_UNKNOWN_SECONDS: Final = 1.0
"""How long to retry if no process is found to hold the lock: it may have been released meanwhile."""
_POLL_SECONDS: Final = 0.05
_BLOCK_BYTES: Final = 1 << 16


class Existing(Enum):
    """How a new job treats an output file that is not empty."""

    REFUSE = "refuse"
    OVERWRITE = "overwrite"
    APPEND = "append"


def check_existing(path: Path, existing: Existing) -> None:
    """Check that a new job may write to the file, or into the directory, at `path`.

    Raises:
        FsqlError: E541, if it is unexpectedly not empty, or if rows are to be appended and it ends with an
            incomplete line.
    """
    if existing is Existing.REFUSE and path.is_dir() and (first := _first_file(path)) is not None:
        message = f'output "{path}" is not empty: it has "{first}"'
        helps = (
            "--overwrite replaces its part files, --append adds to them",
            "or choose another path",
        )
        raise FsqlError([Diagnostic("E541", message, helps=helps)])
    if existing is Existing.OVERWRITE or not path.is_file():
        return
    try:
        size = path.stat().st_size
        if size == 0:
            return
        if existing is Existing.APPEND:
            if path.suffix.lower() not in COMPRESSION_SUFFIXES:
                _check_last_line(path)
            return
    except OSError as error:
        raise paths.open_error("E532", path, error) from None
    message = f'output "{path}" is not empty: it has {size:,} bytes'
    helps = ("--overwrite replaces them, --append adds rows after them", "or choose another path")
    raise FsqlError([Diagnostic("E541", message, helps=helps)])


def _first_file(directory: Path) -> str | None:
    return min(
        (path.name for path in directory.iterdir() if not path.name.startswith(".")), default=None
    )


def _check_last_line(path: Path) -> None:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        if file.read() == b"\n":
            return
        whole = _end_of_lines(file)
    message = f'output "{path}" cannot be appended to: its last line does not end'
    remove = shlex.join(["truncate", "-s", str(whole), str(path)])
    helps = (f"complete that line, or remove it: {remove}", "or choose another path")
    raise FsqlError([Diagnostic("E541", message, helps=helps)])


def _end_of_lines(file: BinaryIO) -> int:
    """Return the offset after the last line end of a file, 0 if it has none."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(end - _BLOCK_BYTES, 0)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


@contextmanager
def locked_output(path: Path, *, directory: bool = False) -> Iterator[int | None]:
    """Lock the file or `directory` at `path` until the end of the block, and create it if it does not exist.

    Yields the descriptor that holds the lock; None if there is nothing to lock.

    Raises:
        FsqlError: E532, if the file cannot be opened; E540, if another job writes it.
    """
    if path.exists() and not path.is_file() and not directory:
        yield None
        return
    if not path.parent.is_dir():
        create = f'create the directory "{path.parent}"'
        raise paths.open_error("E532", path, "its directory does not exist", create)
    try:
        if directory:
            path.mkdir(exist_ok=True)
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise paths.open_error("E532", path, error) from None
    try:
        _lock(path, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(path: Path, descriptor: int) -> None:
    started = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _holder(descriptor)
            if pid is not None and _is_running(pid):
                raise _lock_error(path, pid) from None
            wait_seconds = _UNKNOWN_SECONDS if pid is None else _END_SECONDS
            if time.monotonic() - started > wait_seconds:
                raise _lock_error(path, None) from None
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            raise paths.open_error("E532", path, error) from None
        else:
            return


def _holder(descriptor: int) -> int | None:
    """Return the process that locked the file, None if it is unknown."""
    status = os.fstat(descriptor)
    major, minor = os.major(status.st_dev), os.minor(status.st_dev)
    file = f"{major:02x}:{minor:02x}:{status.st_ino}"
    try:
        locks = [line.split() for line in _LOCKS.read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    pids = [int(lock[4]) for lock in locks if lock[1] == "FLOCK" and lock[5] == file]
    return pids[0] if pids and pids[0] > 0 else None


def _is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        status = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _lock_error(path: Path, pid: int | None) -> FsqlError:
    by = "" if pid is None else f", process {pid}"
    message = f'output "{path}" is being written by another job{by}'
    helps = ("wait for that job, or end it", "or choose another path")
    return FsqlError([Diagnostic("E540", message, helps=helps)])
