"""The state of a job on the local file system, as its coordinator opens it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.runtime.coordination.embedded import EmbeddedCoordination
from fsql.runtime.hosts.front_logs import FrontLogs
from fsql.runtime.hosts.job_state import LEASE_SECONDS, JobState, damage_told
from fsql.runtime.state.local_directory import LocalDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.runtime.hosts.ports import FrontLog


def open_job_state(
    directory: Path,
    owner: str,
    logs: Mapping[int, FrontLog],
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> JobState:
    """Open the state of a job; `owner` is what others read of who leads, `logs` are by front.

    Raises:
        FsqlError: E615, if the coordination file is damaged.
        CoordinationUnavailableError: if it cannot be opened now.
    """
    path = directory / "coordination.sqlite"
    # Where there are snapshots there was coordination: that it is gone is not taken for a beginning.
    first = not (directory / "snapshots").is_dir()
    with damage_told():
        keeper = EmbeddedCoordination(path, create=first)
        deciding = EmbeddedCoordination(path, create=first)
    local = LocalDirectory(directory)
    return JobState(
        local,
        keeper,
        deciding,
        owner,
        time.monotonic,
        logs=FrontLogs(logs),
        lease_seconds=lease_seconds,
    )
