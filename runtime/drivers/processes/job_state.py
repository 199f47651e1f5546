"""The state of a job on the local file system, as its coordinator opens it."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.coordination.port import CoordinationError, CoordinationUnavailableError
from fsql.runtime.hosts.front_logs import FrontLogs
from fsql.runtime.hosts.job_state import LEASE_SECONDS, JobState, close_leader_session, damage_told
from fsql.runtime.state.local_directory import LocalDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.runtime.hosts.ports import FrontLog

_HELPS: Final = ("free space on its disk, or correct the permissions", "or name another directory")


def open_job_state(
    directory: Path,
    owner: str,
    logs: Mapping[int, FrontLog],
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> JobState:
    """Open the state of a job; `owner` is what others read of who leads, `logs` are by front.

    Raises:
        FsqlError: E615, if the coordination file is damaged; E621, if it cannot be opened, on a full disk,
            say.
    """
    path = directory / FILE
    # Where there are snapshots there was coordination: that it is gone is not taken for a beginning.
    first = not (directory / "snapshots").is_dir()
    try:
        with damage_told():
            keeper = EmbeddedCoordination(path, create=first)
            deciding = EmbeddedCoordination(path, create=first)
    except CoordinationUnavailableError as error:
        message = f'the state directory "{directory}" cannot be used: {error}'
        raise FsqlError([Diagnostic("E621", message, helps=_HELPS)]) from None
    local = LocalDirectory(directory)
    return JobState(
        local,
        keeper,
        deciding,
        owner,
        time.monotonic,
        logs=FrontLogs(logs),
        lease_seconds=lease_seconds,
        takes_requests=True,
    )


def end_leadership(directory: Path, owner: str) -> None:
    """End the session of a coordinator whose process has ended, so that the next one need not wait for it.

    Nothing happens where another one than `owner` leads.  Where coordination does not answer, the session
    ends when its time is over.
    """
    try:
        coordination = EmbeddedCoordination(directory / FILE, create=False)
    except CoordinationError:
        return
    with closing(coordination), suppress(CoordinationError):
        close_leader_session(coordination, owner)
