"""`fsql test`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console import exit_codes
from fsql.console.commands import pass_reporter
from fsql.console.flags import define

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command("test", short_help="Run the tests of scripts.")
@click.argument("paths", nargs=-1)
@click.option("--only", "-k", metavar="TEXT", help="Run the cases whose name contains TEXT.")
@click.option("--record", is_flag=True, help="Record the actual rows as the expected ones.")
@click.option(
    "--junit",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the results as JUnit XML.",
)
@define
@pass_reporter
def test(
    reporter: Reporter,
    paths: tuple[str, ...],
    only: str | None,
    junit: Path | None,
    parameters: tuple[tuple[str, str], ...],
    *,
    record: bool,
) -> None:
    """Run the cases in PATHS: Markdown files, or directories of them; by default the tests of the project.

    A case has a script, rows of the tables that it reads, and the rows that it has to write.  The script runs
    in this process, with the time of the rows.  The exit code is 1 if a case fails.
    """
    from fsql.console.project.scripts import given_functions
    from fsql.console.project.settings import settings_of
    from fsql.console.test_report import print_results
    from fsql.console.test_run import find_case_files, run_case_files
    from fsql.job.cases.case_run import CaseInput

    ctx = click.get_current_context()
    settings = settings_of(ctx)
    asked = list(paths) or list(settings.paths("tests"))
    if not asked:
        raise click.UsageError(
            "give files of cases or directories of them, or make a project: fsql init DIR"
        )
    files = find_case_files(asked)
    if not files:
        raise click.UsageError(f"no tests: no file in {', '.join(asked)} ends in .md")
    given = CaseInput({**settings.parameters, **dict(parameters)}, given_functions(ctx))
    run = run_case_files(files, given, only, record=record)
    print_results(run, reporter, junit)
    if not run.passed:
        click.get_current_context().exit(exit_codes.USER_ERROR)
