"""`fsql check`: its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fsql.console import exit_codes
from fsql.console.commands import pass_reporter
from fsql.console.flags import define, execute

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command(short_help="Check scripts without running them.")
@click.argument("files", nargs=-1)
@execute
@define
@pass_reporter
def check(
    reporter: Reporter,
    files: tuple[str, ...],
    text: str | None,
    parameters: tuple[tuple[str, str], ...],
) -> None:
    """Check the scripts FILES and print their errors and warnings.

    FILES may be directories, of which all *.sql are checked; by default the scripts of the project.
    For each INSERT, print the kind of changes (append, upsert, retract) and the state of each operator with
    its bound.  No input is read and no output is written.
    """
    from fsql.console.check import check_json, check_script, check_text
    from fsql.console.project.scripts import named_script, one_script, script_names
    from fsql.console.unused_parameters import warn_unused_parameters

    given = dict(parameters)
    if text is not None:
        scripts = [one_script(files[0] if files else None, text, given)]
    else:
        scripts = [named_script(name, given) for name in script_names(files)]
    checks = [check_script(script) for script in scripts]
    warn_unused_parameters(scripts, reporter)
    if reporter.json:
        click.echo(check_json(checks), nl=False)
    for each in () if reporter.json else checks:
        if each.diagnostics and not (reporter.quiet and each.valid):
            reporter.diagnostics(each.diagnostics, each.source)
        if not reporter.quiet:
            click.echo(check_text(each), nl=False)
    if not all(each.valid for each in checks):
        click.get_current_context().exit(exit_codes.USER_ERROR)
