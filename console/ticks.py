"""`fsql tick propose`, `list` and `show`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.numbers import counted_text, seconds_text
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.console.state_of_job import not_running_error
from fsql.console.text_table import text_table
from fsql.console.tick_records import TITLES, proposal_of, tick_fields, tick_row, tick_text
from fsql.console.written_file import write_text
from fsql.deployment.directory import locked_by
from fsql.job.choices_file import choices_file_of, file_text, plan_of, read_choices
from fsql.job.owners_file import OwnersFile, check_worker, read_owners
from fsql.job.readers import check_readers
from fsql.job.ticks import (
    ProposedLayout,
    choices_now,
    job_of_state,
    not_taken,
    propose,
    propose_when_free,
    read_ticks,
    wait_until_ended,
    workers_now,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.compiler.plan_choices import PlanChoices
    from fsql.console.reporter import Reporter
    from fsql.job.description import JobDescription
    from fsql.runtime.coordination.ticks import TickProposal, TickRecord


def propose_tick(
    reporter: Reporter, name: str | None, state: Path, flags: Mapping[str, Any]
) -> None:
    """Propose a tick to the deployed job `name`, or to the run in `state`.

    With the flag `wait`, wait first for the end of another tick, and print the outcome.

    Raises:
        FsqlError: E637, if the job does not run; E651 or E652, if the tick is not taken.
    """

    def is_running() -> bool:
        return locked_by(state / "lock") is not None

    if not is_running():
        raise not_running_error(name, state)

    def propose_now() -> int:
        job = job_of_state(state)
        workers = flags["workers"] or workers_now(state, job)
        given, choices = _owners(flags, workers, state, job), _choices(flags, state, job)
        owners = None if given.every is None else Owners.of_maps(given.every, given.exchanges)
        readers = _readers(flags, workers, state, job)
        layout = ProposedLayout(owners, given.exchanges, readers)
        return propose(state, job, layout, choices, flags["reason"])

    if not flags["wait"]:
        number = propose_now()
        _print(reporter, {"tick": number}, f"tick {number} is proposed\n")
        return
    seconds = flags["seconds"]
    number = propose_when_free(propose_now, state, seconds=seconds, is_running=is_running)
    record = wait_until_ended(state, number, seconds=seconds, is_running=is_running)
    if record.refused:
        raise not_taken(f"tick {number} was refused: {record.refused}")
    moved, took = counted_text(record.moved_bins, "bin"), seconds_text(record.seconds)
    lines = [f"tick {number} was taken in {took}; {moved} moved", *record.changes, ""]
    text = "\n".join(lines)
    _print(reporter, tick_fields(record), text)


def _choices(flags: Mapping[str, Any], state: Path, job: JobDescription) -> PlanChoices:
    if flags["plan"] is None:
        return NO_CHOICES
    return read_choices(flags["plan"], job, plan_of(job, choices_now(state, job)))


def _owners(flags: Mapping[str, Any], workers: int, state: Path, job: JobDescription) -> OwnersFile:
    def exchanges() -> list[str]:
        return [*plan_of(job, choices_now(state, job)).exchanges.values()]

    if flags["bins"] is not None:
        given = read_owners(flags["bins"], workers, exchanges)
        if given.every is None and flags["workers"] is not None:
            message = (
                f'"{flags["bins"]}": with --workers, the file must have the owners of all exchanges'
            )
            raise FsqlError([Diagnostic("E651", message, helps=(CODES["E651"].fix,))])
        return given
    if flags["to"] is None:
        if not flags["equal"] and flags["workers"] is None:
            return OwnersFile()
        return OwnersFile(OwnerMap.of_equal_ranges(workers))
    check_worker(flags["to"], workers)
    return OwnersFile(OwnerMap((flags["to"],) * BINS, workers))


def _readers(
    flags: Mapping[str, Any], workers: int, state: Path, job: JobDescription
) -> tuple[int, ...]:
    readers: tuple[int, ...] | None = flags["readers"]
    if readers is None:
        return ()
    check_readers(readers, workers, plan_of(job, choices_now(state, job)), job.splits)
    return readers


def print_choices(state: Path, file: Path | None) -> None:
    """Print the choices of the plan of the job in `state`, or write them into a file.

    Raises:
        FsqlError: E535, if the file cannot be written; E614, E615 or E643, if the job cannot be read.
    """
    job = job_of_state(state)
    text = file_text(choices_file_of(job, plan_of(job, choices_now(state, job))))
    if file is None:
        click.echo(text, nl=False)
        return
    write_text(file, text)


def list_ticks(reporter: Reporter, state: Path) -> None:
    """Print the last ticks, the newest first.

    Raises:
        FsqlError: E614, E615 or E643, if they cannot be read.
    """
    ticks = _ticks(state)
    rows = [tick_row(each) for each in ticks]
    _print(reporter, {"ticks": [tick_fields(each) for each in ticks]}, text_table(TITLES, rows))


def show_tick(reporter: Reporter, state: Path, number: int) -> None:
    """Print one tick.

    Raises:
        FsqlError: E653, if there is none of that number; E614, E615 or E643, if it cannot be read.
    """
    found = next((each for each in _ticks(state) if proposal_of(each).tick == number), None)
    if found is None:
        message = f"the job has no tick {number}"
        raise FsqlError([Diagnostic("E653", message, helps=(CODES["E653"].fix,))])
    _print(reporter, tick_fields(found), tick_text(found))


def _ticks(state: Path) -> list[TickProposal | TickRecord]:
    proposal, records = read_ticks(state)
    return [*([] if proposal is None else [proposal]), *records]


def _print(reporter: Reporter, fields: Mapping[str, object], text: str) -> None:
    if not reporter.quiet:
        shown = json.dumps(fields, ensure_ascii=False) + "\n" if reporter.json else text
        click.echo(shown, nl=False)
