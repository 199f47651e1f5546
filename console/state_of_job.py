"""The state directory of a job that a command names: a deployed job, or a run by its directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES

if TYPE_CHECKING:
    from collections.abc import Callable

Command = TypeVar("Command", bound="Callable[..., object]")

any_state = click.option(
    "--state",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="State directory of a run, instead of a deployed job.",
)

job_instead = click.option(
    "--job", "name", metavar="JOB", help="A deployed job, instead of SCRIPT."
)


def wait_seconds(text: str) -> Callable[[Command], Command]:
    """Return the option --seconds, with `text` as its help."""
    return click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        show_default=True,
        help=text,
    )


def not_running_error(name: str | None, state: Path) -> FsqlError:
    """Return E637 for the named deployed job, or for the run in a state directory."""
    if name is not None:
        message, fix = f'the job "{name}" is not running', CODES["E637"].fix
    else:
        message = f'no job runs in the state directory "{state}"'
        fix = f"Start it with `fsql run --state {state} ...`."
    return FsqlError([Diagnostic("E637", message, helps=(fix,))])


def state_of(name: str | None, state: Path | None, directory: Path | None) -> Path:
    """Return the state directory of a deployed job, or the given one.

    Raises:
        click.UsageError: unless one of both is given.
        FsqlError: E633, if there is no such job.
    """
    from fsql.deployment.directory import find_directory

    if (name is None) == (state is None):
        raise click.UsageError("name either a deployed job or a state directory with --state")
    if state is not None:
        return state
    assert name is not None
    return find_directory(directory).find_job(name)[0].state
