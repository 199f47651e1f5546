"""The scripts on a command line, or those of the project, with the parameters of the project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.flags import function_folders
from fsql.console.project.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.job.script import Script

_INIT_HELP = "or create a project, whose scripts are the default: fsql init DIR"


def one_script(name: str | None, text: str | None, given: Mapping[str, str]) -> Script:
    """Return the script with the given name or text, or without either that of the project.

    Raises:
        click.UsageError: if both are given, or there is no script.
        FsqlError: E531 and others, if it cannot be read.
    """
    from fsql.job.script_file import script_of_text

    if name is not None and text is not None:
        raise click.UsageError("give either a script or -e with its text")
    if text is not None:
        return _with_parameters(script_of_text(text, given))
    if name is None:
        name = settings_of(click.get_current_context()).path("script")
    if name is None:
        raise click.UsageError(_no_script())
    return named_script(name, given)


def _no_script() -> str:
    directory = settings_of(click.get_current_context()).directory
    if directory is None:
        return "give either a script or -e with its text"
    return 'give a script, or name the project\'s in fsql.toml: script = "queries/NAME.sql"'


def named_script(name: str, given: Mapping[str, str]) -> Script:
    """Return the script with the given name, with the given parameters and those of the project that it uses.

    Raises:
        FsqlError: E531 and others, if it cannot be read.
    """
    from fsql.job.script_file import read_script

    return _with_parameters(read_script(name, given))


def given_functions(ctx: click.Context) -> tuple[Path, ...]:
    """Return the folders of functions on the command line, or else those of the project."""
    folders = function_folders(ctx) or tuple(map(Path, settings_of(ctx).paths("functions")))
    return tuple(folder.resolve() for folder in folders)


def _with_parameters(script: Script) -> Script:
    """Return the script with its folders of functions, and the project's parameters that it uses.

    Given parameters override those of the project. A compiled plan has its own.
    """
    ctx = click.get_current_context()
    if script.plan_digest is not None:
        return script
    script = replace(script, functions=given_functions(ctx))
    of_project = settings_of(ctx).parameters
    if not of_project:
        return script
    from fsql.compiler.text.parameters import used_parameters

    used = {name: of_project[name] for name in used_parameters(script.source) if name in of_project}
    return replace(script, parameters={**used, **script.parameters})


def script_names(names: Sequence[str]) -> list[str]:
    """Return the names of scripts, in which directories are replaced by their scripts, sorted.

    A directory without scripts is returned as it is, and reading it fails.  Without names they are the
    `scripts` of the project.

    Raises:
        click.UsageError: if there is no name.
    """
    asked = list(names) or list(settings_of(click.get_current_context()).paths("scripts"))
    if not asked:
        raise click.UsageError(f"give scripts or directories of scripts, {_INIT_HELP}")
    found: list[str] = []
    for name in asked:
        path = Path(name)
        within = sorted(str(each) for each in path.rglob("*.sql") if each.is_file())
        found += within or [name]
    return found
