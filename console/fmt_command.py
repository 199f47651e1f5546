"""`fsql fmt`: formats scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

from fsql.console import exit_codes
from fsql.console.commands import pass_reporter

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.job.script import Script


_NO_LINE_END: Final = "\n\\ No newline at end of file\n"


@click.command("fmt", short_help="Format scripts.")
@click.argument("paths", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a script would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print the changes as a unified diff.")
@pass_reporter
def fmt(reporter: Reporter, paths: tuple[str, ...], *, check: bool, diff: bool) -> None:
    """Format the scripts PATHS: files, directories of *.sql, or - for standard input to standard output.

    By default the scripts of the project.  Lines, indentation, spaces and the case of keywords change; tokens
    and comments stay as they are and in their order, so that the meaning of a script is the same.
    """
    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.formatter import format_script
    from fsql.console.project.scripts import script_names
    from fsql.job.script_file import STANDARD_INPUT, read_script

    changed: list[str] = []
    failed: list[str] = []
    scripts = [read_script(name, {}) for name in script_names(paths)]
    for script in scripts:
        name = script.source.name
        try:
            text = format_script(script.source)
        except FsqlError as error:
            reporter.error(error)
            failed.append(name)
            continue
        is_changed = text != script.source.text
        if is_changed:
            changed.append(name)
        if diff:
            click.echo(_diff(script, text), nl=False)
        elif script.path is None and not check and STANDARD_INPUT in paths:
            click.echo(text, nl=False)
        elif is_changed and not check:
            assert script.path is not None
            script.path.write_text(text, newline="")
    _report(reporter, len(scripts), changed, failed, written=not (check or diff))
    if failed or (changed and (check or diff)):
        click.get_current_context().exit(exit_codes.USER_ERROR)


def _diff(script: Script, text: str) -> str:
    from difflib import unified_diff

    name = script.source.name
    lines = unified_diff(
        script.source.text.splitlines(keepends=True), text.splitlines(keepends=True), name, name
    )
    return "".join(line if line.endswith("\n") else f"{line}{_NO_LINE_END}" for line in lines)


def _report(
    reporter: Reporter, count: int, changed: list[str], failed: list[str], *, written: bool
) -> None:
    verb = "formatted" if written else "would format"
    names = "".join(f"{verb} {name}\n" for name in changed)
    rest = count - len(changed) - len(failed)
    text = f"{names}{rest} of {count} script{'' if count == 1 else 's'} unchanged\n"
    fields = {"changed": changed, "failed": failed, "scripts": count, "written": written}
    if reporter.json:
        click.echo(json.dumps(fields, ensure_ascii=False))
    else:
        reporter.inform("formatted", fields, text)
