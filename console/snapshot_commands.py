"""`fsql snapshot`: its commands and their flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console import exit_codes
from fsql.console.commands import reporting

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter

_state = click.option(
    "--state",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="State directory of the job.",
)


@click.group(short_help="List, verify and repair the snapshots of a job.")
def snapshot() -> None:
    """List, verify and repair the snapshots in the state directory of a job.

    The exit code is 1 if a snapshot is damaged; the damage is described on standard error.
    """


@snapshot.command("list", short_help="List the snapshots.")
@_state
@reporting
def snapshot_list(reporter: Reporter, state: Path) -> None:
    """List the snapshots in DIR.  State segments are not read.  The job may be running."""
    _show_snapshots(reporter, state, verify=False)


@snapshot.command("verify", short_help="Read and check all files of the snapshots.")
@_state
@reporting
def snapshot_verify(reporter: Reporter, state: Path) -> None:
    """Read all files of the snapshots in DIR and check sizes and hashes.  The job may be running."""
    _show_snapshots(reporter, state, verify=True)


@snapshot.command("salvage", short_help="Replace damaged stores by their readable part.")
@_state
@reporting
def snapshot_salvage(reporter: Reporter, state: Path) -> None:
    """Replace each damaged store in DIR by a new one with all records that can be read.

    The job must not be running.  Damaged stores are kept beside the new ones.
    """
    from fsql.console.snapshots import salvaged, salvaged_json, salvaged_text

    replaced = salvaged(state)
    if not reporter.quiet:
        click.echo(salvaged_json(replaced) if reporter.json else salvaged_text(replaced), nl=False)


def _show_snapshots(reporter: Reporter, state: Path, *, verify: bool) -> None:
    from fsql.console.snapshots import complaints, inspect, snapshots_json, snapshots_text

    found = inspect(state, verify=verify)
    if not reporter.quiet:
        shown = snapshots_json if reporter.json else snapshots_text
        click.echo(shown(found, verified=verify), nl=False)
    wrong = complaints(found, state, verified=verify)
    if wrong:
        reporter.diagnostics(wrong, None)
        click.get_current_context().exit(exit_codes.USER_ERROR)
