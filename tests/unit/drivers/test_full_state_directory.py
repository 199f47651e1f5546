"""A disk that is full when a state directory is made: an error that says so, and no internal error."""

from __future__ import annotations

import resource
from collections import deque
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.job.description import JobDescription
from fsql.job.state_directory import resume_or_create
from fsql.runtime.coordination.port import CoordinationDiskError
from fsql.runtime.drivers.processes.job_state import open_job_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


JOB = JobDescription(
    job="job",
    script_name="script",
    script_text="SELECT 1 AS one;",
    script_path=None,
    parameters={},
    base_directory="/",
    state="/",
    plan="",
    splits={},
    workers=2,
    policy=None,
    read_ahead_rows=1,
    chunk_rows=1,
    snapshot_every=None,
    delivery=None,
)


@contextmanager
def no_file_may_grow() -> Iterator[None]:
    """Have `write` fail, as it does where a disk is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_the_description_of_the_job_cannot_be_written(tmp_path: Path) -> None:
    with no_file_may_grow(), pytest.raises(FsqlError) as raised:
        resume_or_create(tmp_path, JOB)
    (found,) = raised.value.diagnostics
    assert (found.code, found.message, found.helps) == (
        "E621",
        f'the state directory "{tmp_path}" cannot be used: file too large',
        ("free space on its disk, or correct the permissions", "or name another directory"),
    )
    assert not (tmp_path / "job.json").exists()
    assert resume_or_create(tmp_path, JOB) == JOB


def test_the_coordination_file_cannot_grow(tmp_path: Path) -> None:
    """The lease is lost because of the disk, which ends the job if it lasts."""
    with closing(open_job_state(tmp_path, "me", {})) as state, no_file_may_grow():
        steps = state.renew_lease()
        with pytest.raises(CoordinationDiskError):
            deque(steps, maxlen=0)


def test_the_coordination_file_cannot_be_written(tmp_path: Path) -> None:
    with no_file_may_grow(), pytest.raises(FsqlError) as raised:
        open_job_state(tmp_path, "me", {})
    (found,) = raised.value.diagnostics
    path = tmp_path / "coordination.sqlite"
    assert found.code == "E621"
    assert found.message.startswith(
        f'the state directory "{tmp_path}" cannot be used: cannot use the coordination file "{path}":'
    )
    assert found.helps == (
        "free space on its disk, or correct the permissions",
        "or name another directory",
    )
