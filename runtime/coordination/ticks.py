"""Ticks in coordination: the proposed tick, and the outcomes of the last ones.

A proposal is written by compare-and-set, so its number is unique.  It is open until there is a record of its
number, and outlives a coordinator that fails.  While it is open, no other tick can be proposed.  Records are
in `KEPT` entries that are used in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.owners import ExchangeRanges, OwnerRanges  # noqa: TC001 - msgspec reads them
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.reasons import Reason  # noqa: TC001 - msgspec reads it
from fsql.runtime.coordination.entries import ATTEMPTS, contended, decode, get_value, try_write

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination

PROPOSAL: Final = "tick-proposal"
KEPT: Final = 100
"""How many records are kept."""


class AutomaticChoice(msgspec.Struct, frozen=True):
    """Why a tick was chosen that nobody has requested: a reason for each decision, and by which statistics.

    `collector` has computed these, and the newest interval in them was `age` intervals old.  `cost` is what
    the tick was estimated to cost, in seconds.
    """

    reasons: tuple[Reason, ...]
    collector: str
    age: int
    cost: float = 0.0


class TickProposal(msgspec.Struct, frozen=True):
    """The next tick is to have another owner map, or other choices.

    `owners` has worker, first bin and end (exclusive) of each range, and `exchanges` has the owner maps of
    the exchanges that are to have another one, by name.  With () as `owners`, exchanges that are not named
    keep theirs.  `choices` are the fold policies and orders of filters that change.  `graph` is the digest of
    the plan that the proposal was made for, and `workers` the number of workers that the job was started
    with.  `workers_after` is the number of workers after the tick, 0 for an unchanged number.  `readers` has
    the worker that reads for each front, by number; with () fronts stay, unless the number of workers
    changes.  `reason` is that of who has requested the tick, and may have several lines; `automatic` is the
    choice of the job itself.  `proposed_at` is in seconds since 1970.
    """

    tick: int
    graph: str
    workers: int
    owners: OwnerRanges
    reason: str
    proposed_at: float
    workers_after: int = 0
    choices: PlanChoices = NO_CHOICES
    readers: tuple[int, ...] = ()
    exchanges: ExchangeRanges = ()
    automatic: AutomaticChoice | None = None

    @property
    def reason_lines(self) -> tuple[str, ...]:
        """Return the reason, or those of an automatic choice, as lines."""
        if self.automatic is None:
            return tuple(self.reason.splitlines())
        first, *others = map(str, self.automatic.reasons)
        return (f"auto: {first}", *others)

    @property
    def reason_line(self) -> str:
        """Return the reason on one line."""
        return "; ".join(self.reason_lines)

    @property
    def workers_of_tick(self) -> int:
        """Return how many workers the job has after the tick."""
        return self.workers_after or self.workers


class TickRecord(msgspec.Struct, frozen=True):
    """The outcome of a proposal: it was taken at `position`, or refused for the reason `refused`.

    If it was taken, `proposal` has all owners and choices that are in force from then on.  `changes`
    describes the changed choices and moved fronts, one line each.

    `seconds` is the time since the coordinator read the proposal.  `moved_bins` counts the bins that have
    changed owner.
    """

    proposal: TickProposal
    position: tuple[int, int] | None
    seconds: float
    moved_bins: int = 0
    refused: str = ""
    changes: tuple[str, ...] = ()


class TickUnderWayError(Exception):
    """Another proposed tick has not ended; `tick` is its number."""

    def __init__(self, tick: int) -> None:
        super().__init__(f"tick {tick} has not ended")
        self.tick = tick


def propose_tick(coordination: Coordination, session: int, proposal: TickProposal) -> int:
    """Write a proposal under the next number, whatever number it has; return the number.

    Raises:
        TickUnderWayError: if another one is open.
        CoordinationError: if it cannot be written.
    """
    for _ in range(ATTEMPTS):
        entry = coordination.get(PROPOSAL)
        newest = None if entry is None else decode(entry, TickProposal)
        if newest is not None and find_record(coordination, newest.tick) is None:
            raise TickUnderWayError(newest.tick)
        tick = 1 if newest is None else newest.tick + 1
        numbered = msgspec.structs.replace(proposal, tick=tick)
        if try_write(coordination, session, PROPOSAL, entry, msgspec.json.encode(numbered)):
            return tick
    raise contended(PROPOSAL)


def open_proposal(coordination: Coordination) -> TickProposal | None:
    """Return the proposal that has not ended, None if there is none."""
    proposal = newest_proposal(coordination)
    if proposal is None or find_record(coordination, proposal.tick) is not None:
        return None
    return proposal


def newest_proposal(coordination: Coordination) -> TickProposal | None:
    """Return the last proposal, None if there was none."""
    return get_value(coordination, PROPOSAL, TickProposal)


def put_record(coordination: Coordination, session: int, record: TickRecord) -> None:
    """Record the outcome of a tick, unless there is a record of it already.

    Raises:
        CoordinationError: if it cannot be written.
    """
    key, data = _key_of(record.proposal.tick), msgspec.json.encode(record)
    for _ in range(ATTEMPTS):
        entry = coordination.get(key)
        found = None if entry is None else decode(entry, TickRecord)
        if found is not None and found.proposal.tick >= record.proposal.tick:
            return
        if try_write(coordination, session, key, entry, data):
            return
    raise contended(key)


def find_record(coordination: Coordination, tick: int) -> TickRecord | None:
    """Return the record of a tick, None if it has not ended or its record is not kept any more."""
    record = get_value(coordination, _key_of(tick), TickRecord)
    return record if record is not None and record.proposal.tick == tick else None


def kept_records(coordination: Coordination) -> list[TickRecord]:
    """Return the records that are kept, the newest first."""
    newest = newest_proposal(coordination)
    numbers = range(0 if newest is None else newest.tick, 0, -1)[:KEPT]
    records = [find_record(coordination, tick) for tick in numbers]
    return [record for record in records if record is not None]


def last_taken(coordination: Coordination) -> TickRecord | None:
    """Return the record of the last tick that was taken, None if none is kept."""
    newest = newest_proposal(coordination)
    for tick in range(0 if newest is None else newest.tick, 0, -1)[:KEPT]:
        record = find_record(coordination, tick)
        if record is not None and not record.refused:
            return record
    return None


def _key_of(tick: int) -> str:
    return f"tick-{tick % KEPT:02}"
