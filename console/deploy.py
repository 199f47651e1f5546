"""`fsql deploy`: compiles a script and hands the plan to the agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsql.console import exit_codes
from fsql.console.unused_parameters import warn_unused_parameters
from fsql.deployment.client import ask_agent
from fsql.deployment.directory import find_directory
from fsql.deployment.messages import Deploy
from fsql.deployment.plans import check_deployable
from fsql.job.compilation import compile_job
from fsql.job.plan_file import plan_file_bytes, plan_file_of
from fsql.job.script import read_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.console.reporter import Reporter


def deploy_script(
    reporter: Reporter,
    script: str,
    name: str | None,
    directory: Path | None,
    existing: Any,  # noqa: ANN401 - one of the words of `Deploy.existing`
    flags: Mapping[str, Any],
) -> int:
    """Deploy a script as a new job; return the exit code.

    Raises:
        FsqlError: what is wrong with the script; E631 to E635.
    """
    the_script = read_script(script, dict(flags["parameters"]))
    compiled = compile_job(the_script)
    warn_unused_parameters([the_script], reporter)
    if compiled.warnings and not reporter.quiet:
        reporter.diagnostics(compiled.warnings, the_script.source)
    check_deployable(compiled)
    name = name or Path(script).stem
    request = Deploy(
        name,
        plan_file_bytes(plan_file_of(compiled)).decode(),
        workers=flags["workers"],
        snapshot_ms=flags["snapshot_ms"],
        delivery=flags["delivery"],
        existing=existing,
    )
    answer = ask_agent(find_directory(directory), request)
    reporter.inform("deployed", {"job": name, "id": answer.job}, f"{name} is deployed\n")
    return exit_codes.OK
