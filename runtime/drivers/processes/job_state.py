"""The state of a job on the local file system, opened by its coordinator."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.coordination.port import CoordinationError, CoordinationUnavailableError
from fsql.runtime.hosts.front_logs import FrontLogs
from fsql.runtime.hosts.job_state import (
    LEASE_SECONDS,
    JobState,
    close_leader_session,
    translate_persistent_errors,
)
from fsql.runtime.state.local_directory import LocalDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.runtime.coordination.port import Coordination
    from fsql.runtime.hosts.ports import FrontLog

_HELPS: Final = ("free space on its disk, or correct the permissions", "or name another directory")


class OpenCoordination(Protocol):
    """Opens the coordination of a job."""

    def __call__(self, *, create: bool) -> Coordination:
        """Return a client; with `create` the data is created if it does not exist.

        Raises:
            CoordinationError: if that cannot be done.
        """


def embedded_coordination(directory: Path) -> OpenCoordination:
    """Return the opener of the coordination file in a state directory."""
    return partial(EmbeddedCoordination, directory / FILE)


def has_begun(directory: Path) -> bool:
    """Return whether a job has snapshots in its state directory.

    Then the job had coordination data, and a missing file is an error, not a new job.
    """
    return (directory / "snapshots").is_dir()


def open_job_state(
    directory: Path,
    owner: str,
    logs: Mapping[int, FrontLog],
    *,
    coordination: OpenCoordination | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> JobState:
    """Open the state of a job; `owner` is the value of the lease, `logs` are by front.

    Coordination is the file in the directory unless another one is given.

    Raises:
        FsqlError: E615, if the coordination file is damaged; E621, if it cannot be opened, for example
            because the disk is full.
    """
    open_coordination = coordination or embedded_coordination(directory)
    create = not has_begun(directory)
    try:
        with translate_persistent_errors():
            lease_client, commit_client = (
                open_coordination(create=create),
                open_coordination(create=create),
            )
    except CoordinationUnavailableError as error:
        message = f'the state directory "{directory}" cannot be used: {error}'
        raise FsqlError([Diagnostic("E621", message, helps=_HELPS)]) from None
    return JobState(
        LocalDirectory(directory),
        lease_client,
        commit_client,
        owner,
        time.monotonic,
        logs=FrontLogs(logs),
        lease_seconds=lease_seconds,
        takes_requests=True,
        wall_clock=time.time,
    )


def end_leadership(open_coordination: OpenCoordination, owner: str) -> None:
    """End the session of a coordinator whose process has ended, so that the next one need not wait for it.

    Does nothing if a coordinator other than `owner` holds the lease.  If coordination does not answer, the
    session ends when it expires.
    """
    with suppress(CoordinationError), closing(open_coordination(create=False)) as coordination:
        close_leader_session(coordination, owner)
