"""Scripts that are added to running jobs, so that their common parts are computed once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.changes import plan_change
from fsql.deployment.common_parts import works
from fsql.job.compilation import compile_job
from fsql.job.graph_diff import StateChange
from fsql.job.script_addition import add_script
from fsql.job.script_file import read_script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.deployment.common_parts import CommonPart
    from fsql.deployment.directory import ClusterDirectory
    from fsql.job.compilation import Compiled
    from fsql.job.script_addition import Addition


def addition_to(cluster: ClusterDirectory, name: str, compiled: Compiled) -> tuple[Addition, str]:
    """Return the script of a job with the statements of another one, and the file of the job's plan.

    Raises:
        FsqlError: E633, if there is no such job; E640, if the statements cannot be added.
    """
    job, deployment = cluster.find_job(name)
    of_job = compile_job(read_script(str(job.plan_of(deployment)), {}))
    return add_script(of_job, compiled, name), deployment.plan


def accepted_addition(
    cluster: ClusterDirectory, compiled: Compiled, parts: Iterable[CommonPart]
) -> tuple[str, StateChange] | None:
    """Return the first job to which a script can be added so that a common part is computed once, if any.

    The second value is KEEP if the job has all state that the script needs, otherwise REBUILD.
    """
    for name in dict.fromkeys(each.job for each in parts):
        for change in (StateChange.KEEP, StateChange.REBUILD):
            if _is_accepted(cluster, name, compiled, change):
                return name, change
    return None


def _is_accepted(
    cluster: ClusterDirectory, name: str, compiled: Compiled, change: StateChange
) -> bool:
    try:
        together = addition_to(cluster, name, compiled)[0].compiled
        if together is None:
            return False
        planned = plan_change(cluster.find_job(name)[0], together, change, count=False)
        planned.check()
    except FsqlError:
        return False
    directory = together.script.base_directory
    of_job = works(planned.old, directory)
    added = works(compiled.job, compiled.script.base_directory)
    counts = Counter(works(together.job, directory).values())
    return any(counts[work] == 1 for work in {*of_job.values()} & {*added.values()})
