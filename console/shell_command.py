"""`fsql shell`: its flags."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import define, existing_of, existing_outputs
from fsql.console.standard_output import FORMATS

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command(short_help="Run statements from a terminal or standard input.")
@click.argument("script", required=False)
@click.option(
    "--preview",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="Stop each SELECT after ROWS rows.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Output format of results. Default: a table on a terminal, otherwise JSON lines.",
)
@define
@existing_outputs
@pass_reporter
def shell(
    reporter: Reporter,
    script: str | None,
    preview: int | None,
    form: str | None,
    parameters: tuple[tuple[str, str], ...],
    *,
    overwrite: bool,
    append: bool,
) -> None:
    """Run statements from a terminal or standard input, each when its ; has been read.

    Tables, views and functions stay declared until the shell ends.  A SELECT shows its result; on a
    terminal, that of an updating query is a table that changes in place.  Ctrl-C ends the query, Ctrl-D the
    shell.

    The statements of SCRIPT run first.  Relative paths start from its directory, or else from the working
    directory.  Statements from a pipe run up to the first that fails.
    """
    from fsql import __version__
    from fsql.console.project.scripts import given_functions
    from fsql.console.project.settings import settings_of
    from fsql.console.shell.session import ShellSession
    from fsql.console.shell.shell import Shell
    from fsql.job.script_file import read_script

    ctx = click.get_current_context()
    given = {**settings_of(ctx).parameters, **dict(parameters)}
    first = None if script is None else read_script(script, given)
    directory = Path.cwd() if first is None else first.base_directory
    session = ShellSession(directory, given, given_functions(ctx))
    existing = existing_of(overwrite=overwrite, append=append)
    the_shell = Shell(session, reporter, form, preview, existing)
    if first is not None and (code := the_shell.run_text(first.source.text)):
        ctx.exit(code)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from fsql.console.shell.prompt import TerminalPrompt

        prompt = TerminalPrompt(session)
        prompt.on_declared()
        ctx.exit(the_shell.run_prompt(prompt, __version__))
    ctx.exit(the_shell.run_text(read_script("-", given).source.text))
