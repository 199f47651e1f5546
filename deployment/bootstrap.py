"""The bootstrap of a deployed job that has not been started; see `fsql.job.bootstrap`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.deployment.directory import take_lock
from fsql.deployment.launch_options import launch_options
from fsql.job.bootstrap import bootstrap
from fsql.job.compilation import compile_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.deployment.directory import JobDirectory
    from fsql.job.bootstrap import Bootstrapped, Until
    from fsql.runtime.dataflow.metrics import Metrics


def bootstrap_job(
    job: JobDirectory, master: str, until: Until | None, on_progress: Callable[[Metrics], None]
) -> Bootstrapped:
    """Compute the state of a job over its history; the agent can start it from there.

    Raises:
        FsqlError: see `fsql.job.bootstrap.bootstrap`.
    """
    lock = take_lock(job.lock)
    if lock is None:
        message = "the job cannot be bootstrapped: a process runs it"
        raise FsqlError([Diagnostic("E662", message, helps=("stop and drop it first",))])
    try:
        script, options, process_options = launch_options(job, job.deployment())
        compiled = compile_job(script)
        return bootstrap(compiled, options, process_options, master, until, on_progress)
    finally:
        os.close(lock)
