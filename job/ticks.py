"""Proposes ticks to a running job, and reads their outcomes, through its coordination."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.compiler.records import dataclass
from fsql.job.coordination import coordination_error, is_in_zookeeper, state_coordination
from fsql.job.state_directory import read_description
from fsql.runtime.coordination.embedded import FILE
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.coordination.ticks import (
    TickProposal,
    TickUnderWayError,
    find_record,
    kept_records,
    last_taken,
    open_proposal,
    propose_tick,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fsql.compiler.owner_map import OwnerMap
    from fsql.compiler.owners import Owners
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.job.description import JobDescription
    from fsql.runtime.coordination.port import Coordination
    from fsql.runtime.coordination.ticks import AutomaticChoice, TickRecord

REASON_CHARACTERS_MAX: Final = 1000
REASONS_CHARACTERS_MAX: Final = 20_000
REASONS_MAX: Final = 100
_SESSION_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05


def job_of_state(state: Path, *other_helps: str) -> JobDescription:
    """Return the description of the job in a state directory; `other_helps` are for the lack of one.

    Raises:
        FsqlError: E614, if there is no job; E621 or E623, if its description cannot be read.
    """
    description = read_description(state)
    if description is None:
        raise no_job_error(state, *other_helps)
    return description


def no_job_error(state: Path, *other_helps: str) -> FsqlError:
    """Return the error for a directory in which no job has begun."""
    message = f'directory "{state}" holds no state of a job'
    helps = ("give the state directory of a job that has begun to run", *other_helps)
    return FsqlError([Diagnostic("E614", message, helps=helps)])


def _last_taken(state: Path) -> TickRecord | None:
    with _coordination(state, read_only=True) as coordination:
        return last_taken(coordination)


def workers_now(state: Path, job: JobDescription) -> int:
    """Return the number of workers of a job after its last tick.

    Raises:
        FsqlError: E614, E615 or E643, if coordination cannot be used.
    """
    last = _last_taken(state)
    is_of_run = last is not None and last.proposal.workers == job.workers
    return last.proposal.workers_of_tick if last is not None and is_of_run else job.workers


def choices_now(state: Path, job: JobDescription) -> PlanChoices:
    """Return the choices of a job's plan since its last tick.

    Raises:
        FsqlError: E614, E615 or E643, if coordination cannot be used.
    """
    last = _last_taken(state)
    is_of_plan = last is not None and last.proposal.graph == job.plan
    return last.proposal.choices if last is not None and is_of_plan else NO_CHOICES


class OtherTickError(FsqlError):
    """A tick cannot be proposed, because another one has not ended (E652)."""


@dataclass(frozen=True, slots=True)
class ProposedLayout:
    """The layout that a tick is to have; what is empty does not change.

    With None as `owners`, the exchanges that `exchanges` does not name keep theirs.  `readers` has the worker
    that reads for each front, by number.
    """

    owners: Owners | None = None
    exchanges: Mapping[str, OwnerMap] = field(default_factory=dict)
    readers: tuple[int, ...] = ()


def propose(
    state: Path,
    job: JobDescription,
    layout: ProposedLayout,
    choices: PlanChoices,
    reason: str | AutomaticChoice,
) -> int:
    """Propose a tick to the job in a state directory, and return its number.

    `reason` is that of who has requested it, or the choice of the job itself.  After the
    tick the job has the workers of the owners; without owners, their number does not change.

    Raises:
        OtherTickError: if another tick has not ended.
        FsqlError: E614, E615, E642 or E643.
    """
    owners = layout.owners
    text = reason[:REASON_CHARACTERS_MAX] if isinstance(reason, str) else ""
    workers = workers_now(state, job) if owners is None else owners.workers
    named = tuple((name, of.ranges) for name, of in sorted(layout.exchanges.items()))
    proposal = TickProposal(
        *(0, job.plan, job.workers, () if owners is None else owners.ranges),
        *(text, time.time(), workers, choices),
        layout.readers,
        named if owners is None else owners.exchange_ranges,
        None if isinstance(reason, str) else _bounded(reason),
    )
    with _coordination(state) as coordination:
        session = coordination.open_session(_SESSION_SECONDS)
        try:
            return propose_tick(coordination, session, proposal)
        except TickUnderWayError as error:
            refused = not_taken(f"tick {error.tick} has not ended")
            raise OtherTickError(refused.diagnostics) from None
        finally:
            coordination.close_session(session)


def _bounded(choice: AutomaticChoice) -> AutomaticChoice:
    """Return a choice of which as many reasons are left as an entry of coordination should have.

    The reasons of what does not change are left out first.
    """
    reasons = choice.reasons
    if sum(len(each.text) for each in reasons) > REASONS_CHARACTERS_MAX:
        reasons = tuple(each for each in reasons if each.changes)[:REASONS_MAX]
    cut = tuple(replace(each, text=each.text[:REASON_CHARACTERS_MAX]) for each in reasons)
    return msgspec.structs.replace(choice, reasons=cut)


def propose_when_free(
    propose_now: Callable[[], int], state: Path, *, seconds: float, is_running: Callable[[], bool]
) -> int:
    """Call `propose_now` once no other tick is under way, and return the number of the tick.

    The job itself can propose a tick just before it; then that tick is waited for as well.

    Raises:
        FsqlError: E652, if `seconds` are over; E614, E615, E642 or E643.
    """
    until = time.monotonic() + seconds
    while True:
        _wait_until_free(state, seconds=seconds, until=until, is_running=is_running)
        try:
            return propose_now()
        except OtherTickError:
            if time.monotonic() >= until:
                raise


def _wait_until_free(
    state: Path, *, seconds: float, until: float, is_running: Callable[[], bool]
) -> None:
    """Wait for the end of a tick that was proposed before, by the job itself or by another process.

    Raises:
        FsqlError: E652, if the `seconds` to the time `until` are over; E614, E615, E642 or E643.
    """
    with _coordination(state, read_only=True) as coordination:
        while (proposal := open_proposal(coordination)) is not None and is_running():
            if time.monotonic() >= until:
                raise not_taken(f"tick {proposal.tick} has not ended within {seconds:g} s")
            time.sleep(_POLL_SECONDS)


def wait_until_ended(
    state: Path, tick: int, *, seconds: float, is_running: Callable[[], bool]
) -> TickRecord:
    """Wait for the end of a tick, and return its outcome.

    Raises:
        FsqlError: E652, if the job ends before, or `seconds` are over; E614, E615, E642 or E643.
    """
    until = time.monotonic() + seconds
    with _coordination(state) as coordination:
        while True:
            running = is_running()
            record = find_record(coordination, tick)
            if record is not None:
                return record
            if not running:
                raise not_taken(f"the job has ended before tick {tick} was taken")
            if time.monotonic() >= until:
                raise not_taken(
                    f"tick {tick} has not ended within {seconds:g} s; it stays proposed"
                )
            time.sleep(_POLL_SECONDS)


def read_ticks(state: Path) -> tuple[TickProposal | None, list[TickRecord]]:
    """Return the proposal that has not ended, and the records of the last ticks, the newest first.

    Raises:
        FsqlError: E614, E615, E642 or E643.
    """
    if not has_coordination(state):
        raise no_job_error(state)
    with _coordination(state, read_only=True) as coordination:
        return open_proposal(coordination), kept_records(coordination)


def has_coordination(state: Path) -> bool:
    """Return whether a job in a state directory has begun to coordinate."""
    return (state / FILE).exists() or is_in_zookeeper(state)


def not_taken(reason: str) -> FsqlError:
    """Return the error for a tick that was not taken."""
    return FsqlError([Diagnostic("E652", reason, helps=(CODES["E652"].fix,))])


@contextmanager
def _coordination(state: Path, *, read_only: bool = False) -> Iterator[Coordination]:
    try:
        with closing(state_coordination(state, read_only=read_only)) as opened:
            yield opened
    except CoordinationError as error:
        raise coordination_error(state, error) from None
