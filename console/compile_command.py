"""`fsql compile`: checks a script and writes its plan to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import define

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command("compile", short_help="Check a script and write its plan to a file.")
@click.argument("script", required=False)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File for the plan.",
)
@define
@pass_reporter
def compile_(
    reporter: Reporter, script: str | None, output: Path, parameters: tuple[tuple[str, str], ...]
) -> None:
    """Check SCRIPT, by default that of the project, and write its plan to FILE.

    FILE contains the text, the values of its parameters, the directory from which its paths start, and the
    plan with its digest.  `fsql deploy`, `explain`, `check` and `run` accept it instead of a script.
    """
    from fsql.console.project.scripts import one_script
    from fsql.console.unused_parameters import warn_unused_parameters
    from fsql.job.compilation import compile_job
    from fsql.job.explain_stage import check_output
    from fsql.job.plan_file import plan_file_bytes, plan_file_of, write_plan_file

    the_script = one_script(script, None, dict(parameters))
    compiled = compile_job(the_script)
    warn_unused_parameters([the_script], reporter)
    if compiled.warnings and not reporter.quiet:
        reporter.diagnostics(compiled.warnings, the_script.source)
    check_output(compiled, str(output))
    plan = plan_file_of(compiled)
    write_plan_file(output, plan_file_bytes(plan))
    name = script or the_script.source.name
    fields = {
        "script": name,
        "output": str(output),
        "digest": plan.digest,
        "operators": list(plan.operators),
    }
    text = f"compiled {name} to {output}: plan {plan.digest[:12]}\n"
    reporter.inform("compiled", fields, text)
