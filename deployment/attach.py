"""`fsql.attach`: the results of a deployed job, or of a run by its state directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fsql.deployment.directory import find_directory
from fsql.job.errors import raise_typed_errors
from fsql.job.results.job_results import JobResults
from fsql.job.results.running_job import RunningJob

if TYPE_CHECKING:
    from os import PathLike


def attach(
    job: str | None = None,
    *,
    state: str | PathLike[str] | None = None,
    directory: str | PathLike[str] | None = None,
) -> RunningJob:
    """Return a job that runs in other processes, to be asked for its results.

    Args:
        job: the name of a deployed job.
        state: the state directory of a run, instead of a deployed job.
        directory: the cluster directory; without it, that of FSQL_DIR, or the nearest `.fsql`.

    Raises:
        ClusterError: if there is no such job.
    """
    if (job is None) == (state is None):
        raise TypeError("attach takes the name of a job, or state=")
    with raise_typed_errors():
        if state is not None:
            return RunningJob(JobResults(Path(state)))
        assert job is not None
        cluster = find_directory(None if directory is None else Path(directory))
        return RunningJob(JobResults(cluster.find_job(job)[0].state, job))
