"""What a script has in common with the running jobs of a cluster: operators with state that run twice.

Within a job, equal parts of its queries are computed once.  Jobs share nothing: each has its own workers and
its own positions.  What is computed twice is named with what it takes, and with the command that adds the
script to the other job, if that job would accept it.

Two operators compute the same if their plans are equal, from tables with equal options; files may be named
from different directories.  The plans are those after all rules, which remove columns that a query does not
use.  So a part that two queries use differently may not be found.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.numbers import bytes_text
from fsql.compiler.explain.operators import operator_parts
from fsql.compiler.explain.parts import headline
from fsql.compiler.explain.traits import operator_name
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import work_digest
from fsql.connectors import paths
from fsql.connectors.settings import settings_of
from fsql.deployment.views import views
from fsql.job.compilation import compile_job
from fsql.job.script_file import read_script
from fsql.job.state_operators import state_operators
from fsql.optimizer.collectors.written_results import newest_statistics

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.logical import Job, Table
    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.views import JobView
    from fsql.job.compilation import Compiled

_RUNS = frozenset({"starting", "running", "recovering", "waiting"})
_REMEDY = (
    "to compute it once: use one script for both, or write it to a table or topic that both read"
)
_ADD = "to compute it once, instead of a job of its own: "


@dataclass(frozen=True, slots=True)
class CommonPart:
    """An operator that a job computes already; what it takes there is None if that is not measured.

    `busy` is the processor time in seconds per second, `state_bytes` the size of its state.
    """

    job: str
    operator: str
    text: str
    busy: float | None
    state_bytes: int | None

    def fields(self) -> JsonObject:
        """Return the part as the fields of a JSON object."""
        return {
            "job": self.job,
            "operator": self.operator,
            "text": self.text,
            "busy": self.busy,
            "state_bytes": self.state_bytes,
        }


def common_parts(cluster: ClusterDirectory, compiled: Compiled, name: str) -> list[CommonPart]:
    """Return the operators with state that other running jobs compute, too, by job.

    `name` is the job of the script, which is left out.  So are jobs whose script does not compile any more.
    """
    own = _by_work(compiled)
    found: list[CommonPart] = []
    for view in views(cluster) if own else ():
        if view.deployment.name != name and view.state in _RUNS:
            found += _parts_in(view, own)
    return found


def common_parts_text(parts: list[CommonPart], command: str | None = None) -> str:
    """Return a note about the parts, "" if there are none; `command` adds the script to the other job."""
    lines: list[str] = []
    for job in dict.fromkeys(each.job for each in parts):
        lines.append(f"note: job {job} computes this already, so it runs twice:")
        lines += [
            f"  {each.text} ({each.operator}): {_costs(each)}" for each in parts if each.job == job
        ]
    remedy = _REMEDY if command is None else f"{_ADD}{command}"
    return "".join(f"{line}\n" for line in [*lines, f"  {remedy}"]) if lines else ""


def works(job: Job, directory: Path) -> dict[str, str]:
    """Return a digest of what each operator with state computes; relative paths start from the directory."""
    return {
        operator: work_digest(plan, lambda table: _data(table, directory))
        for operator, plan in state_operators(job).items()
    }


def _costs(part: CommonPart) -> str:
    if part.busy is None or part.state_bytes is None:
        return "no estimate of what it takes"
    return f"takes {part.busy:.1%} of a core there, and {bytes_text(part.state_bytes)} of state"


def _parts_in(view: JobView, own: Mapping[str, str]) -> list[CommonPart]:
    """Return the operators of a job that compute the same as one of a script, in the order of execution."""
    name, job = view.deployment.name, view.directory
    try:
        compiled = compile_job(read_script(str(job.plan_of(view.deployment)), {}))
    except FsqlError:
        return []
    statistics = newest_statistics(job.state)
    busy = {each.operator: each.busy for each in statistics.costs}
    sizes: dict[str, int] = {}
    for fold in statistics.folds:
        sizes[fold.operator] = sizes.get(fold.operator, 0) + fold.state_bytes
    return [
        CommonPart(name, operator, own[work], busy.get(operator), sizes.get(operator))
        for work, operator in _operators_by_work(compiled).items()
        if work in own
    ]


def _by_work(compiled: Compiled) -> dict[str, str]:
    """Return the operators with state as text, by a digest of what they compute."""
    plans = state_operators(compiled.job)
    return {
        work: headline(operator_name(plans[operator]), operator_parts(plans[operator]))
        for work, operator in _operators_by_work(compiled).items()
    }


def _operators_by_work(compiled: Compiled) -> dict[str, str]:
    """Return the operators with state by a digest of what they compute, of equal ones the first."""
    found: dict[str, str] = {}
    for operator, work in works(compiled.job, compiled.script.base_directory).items():
        found.setdefault(work, operator)
    return found


def _data(table: Table, directory: Path) -> str:
    """Return what the rows of a table are: its options, of which the path does not depend on the script."""
    options = dict(table.options)
    settings = settings_of(table.options)
    path = settings.optional("path") if settings.connector.option("path") is not None else None
    if path is not None:
        options["path"] = str(paths.resolve(path, directory, ()))
    return json.dumps(sorted(options.items()))
