"""The state directory of a job that a command names: a deployed job, or a run by its directory."""

from __future__ import annotations

from pathlib import Path

import click

any_state = click.option(
    "--state",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="State directory of a run, in place of a deployed job.",
)


def state_of(name: str | None, state: Path | None, directory: Path | None) -> Path:
    """Return the state directory of a deployed job, or the one given.

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
    return find_directory(directory).named(name)[0].state
