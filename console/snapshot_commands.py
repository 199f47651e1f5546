"""`fsql snapshot`: its commands and their flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console import exit_codes
from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory
from fsql.console.state_of_job import any_state, state_of, wait_seconds

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.group(short_help="Take, list, verify, restore and repair snapshots.")
def snapshot() -> None:
    """Take, list, verify, restore and repair the snapshots in the state directory of a job.

    The exit code is 1 if a snapshot is damaged; the damage is described on standard error.
    """


@snapshot.command("list", short_help="List the snapshots.")
@click.argument("name", required=False)
@any_state
@cluster_directory
@pass_reporter
def snapshot_list(
    reporter: Reporter, name: str | None, state: Path | None, directory: Path | None
) -> None:
    """List the snapshots of the job NAME, or of the state directory --state.

    State segments are not read.  The job may be running.

    With --json, standard output has one object: "verified" (whether state segments were read) and
    "snapshots": a list, the newest first, of objects with "snapshot", "status" ("newest", "older" or "not
    committed"), "ok" and "reason" (why it cannot be used, or null) and, if its manifest can be read, "job",
    "epoch", "position" (time and origin), "workers", "segments", "rows" and "bytes".
    """
    _show_snapshots(reporter, state_of(name, state, directory), verify=False)


@snapshot.command("verify", short_help="Read and check all files of the snapshots.")
@click.argument("name", required=False)
@any_state
@cluster_directory
@pass_reporter
def snapshot_verify(
    reporter: Reporter, name: str | None, state: Path | None, directory: Path | None
) -> None:
    """Read all files of the snapshots of the job NAME, or of --state, and check sizes and hashes.

    The job may be running.  With --json, standard output is as that of `fsql snapshot list --json`.
    """
    _show_snapshots(reporter, state_of(name, state, directory), verify=True)


@snapshot.command("salvage", short_help="Replace damaged stores by what can be read of them.")
@click.argument("name", required=False)
@any_state
@cluster_directory
@pass_reporter
def snapshot_salvage(
    reporter: Reporter, name: str | None, state: Path | None, directory: Path | None
) -> None:
    """Replace each damaged store of the job NAME, or of --state, by a new one with all that can be read.

    The job must not be running.  Damaged stores are kept next to the new ones.
    """
    from fsql.console.snapshots import salvage_stores, salvaged_json, salvaged_text

    salvaged = salvage_stores(state_of(name, state, directory))
    if not reporter.quiet:
        click.echo(salvaged_json(salvaged) if reporter.json else salvaged_text(salvaged), nl=False)


@snapshot.command("take", short_help="Take a snapshot of a running job.")
@click.argument("name", required=False)
@any_state
@cluster_directory
@click.option(
    "--to",
    "copy",
    metavar="COPY",
    type=click.Path(path_type=Path),
    help="Also copy the snapshot to this new directory.",
)
@wait_seconds("How long to wait until it is committed.")
@pass_reporter
def snapshot_take(
    reporter: Reporter,
    name: str | None,
    state: Path | None,
    directory: Path | None,
    copy: Path | None,
    seconds: float,
) -> None:
    """Take a snapshot of the running job NAME, or of the run that has the state directory --state.

    The copy has everything but front logs; `fsql snapshot list` and `verify` read it, `restore` restores it.
    """
    from fsql.console.snapshot_copies import take

    take(reporter, name, state_of(name, state, directory), copy, seconds)


@snapshot.command("restore", short_help="Restore a job from a copy of a snapshot.")
@click.argument("copy", type=click.Path(path_type=Path))
@click.argument("name", required=False)
@any_state
@cluster_directory
@pass_reporter
def snapshot_restore(
    reporter: Reporter, copy: Path, name: str | None, state: Path | None, directory: Path | None
) -> None:
    """Restore the job NAME, or that of the state directory --state, from the snapshot in COPY.

    The job must be stopped.  When it is started it reads its input from the position of the snapshot.  Rows
    that its outputs already have are not written again.
    """
    from fsql.console.snapshot_copies import restore

    restore(reporter, copy, state_of(name, state, directory))


def _show_snapshots(reporter: Reporter, state: Path, *, verify: bool) -> None:
    from fsql.console.snapshots import damage_diagnostics, inspect, snapshots_json, snapshots_text

    found = inspect(state, verify=verify)
    if not reporter.quiet:
        shown = snapshots_json if reporter.json else snapshots_text
        click.echo(shown(found, verified=verify), nl=False)
    wrong = damage_diagnostics(found, state, verified=verify)
    if wrong:
        reporter.diagnostics(wrong, None)
        click.get_current_context().exit(exit_codes.USER_ERROR)
