"""Proposals and records of ticks as text and as JSON."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import count_text, seconds_text
from fsql.optimizer.statistics import source_text
from fsql.runtime.coordination.ticks import TickRecord

if TYPE_CHECKING:
    from fsql.compiler.owners import OwnerRanges
    from fsql.runtime.coordination.ticks import TickProposal

TITLES: Final = ("tick", "state", "proposed", "took", "moved bins", "statistics", "reason", "")


def proposal_of(tick: TickProposal | TickRecord) -> TickProposal:
    """Return the proposal of a tick."""
    return tick.proposal if isinstance(tick, TickRecord) else tick


def state_word(tick: TickProposal | TickRecord) -> str:
    """Return the outcome of a tick, as a word."""
    if not isinstance(tick, TickRecord):
        return "proposed"
    return "refused" if tick.refused else "taken"


def source_of(proposal: TickProposal) -> str:
    """Return which collector the statistics of an automatic tick are of, and how old they were."""
    choice = proposal.automatic
    return "" if choice is None else source_text(choice.collector, choice.age)


def tick_fields(tick: TickProposal | TickRecord) -> dict[str, object]:
    """Return a tick as the fields of a JSON object."""
    proposal = proposal_of(tick)
    record = tick if isinstance(tick, TickRecord) else None
    return {
        "tick": proposal.tick,
        "state": state_word(tick),
        "reason": proposal.reason_line,
        "collector": None if proposal.automatic is None else proposal.automatic.collector,
        "age": None if proposal.automatic is None else proposal.automatic.age,
        "proposed_at": proposal.proposed_at,
        "seconds": None if record is None else record.seconds,
        "position": None if record is None else record.position,
        "moved_bins": None if record is None else record.moved_bins,
        "refused": "" if record is None else record.refused,
        "workers": proposal.workers_of_tick,
        "owners": proposal.owners,
        "exchanges": dict(proposal.exchanges),
        "readers": proposal.readers,
        "changes": () if record is None else record.changes,
    }


def tick_row(tick: TickProposal | TickRecord) -> tuple[str, ...]:
    """Return a tick as the cells of a row below `TITLES`."""
    proposal = proposal_of(tick)
    start = (str(proposal.tick), state_word(tick), _time_text(proposal.proposed_at))
    end = (source_of(proposal), proposal.reason_line)
    if not isinstance(tick, TickRecord):
        return (*start, "", "", *end, "")
    moved = "" if tick.refused else count_text(tick.moved_bins)
    return (*start, seconds_text(tick.seconds), moved, *end, tick.refused)


def tick_text(tick: TickProposal | TickRecord) -> str:
    """Return the full record of a tick, as lines of text."""
    proposal = proposal_of(tick)
    lines = [f"tick {proposal.tick}: {state_word(tick)}"]
    if proposal.reason_lines:
        first, *others = proposal.reason_lines
        lines += [f"reason: {first}", *(f"  {each}" for each in others)]
    if proposal.automatic is not None:
        lines.append(f"statistics: {source_of(proposal)}")
    lines.append(f"proposed: {_time_text(proposal.proposed_at)}")
    if isinstance(tick, TickRecord):
        lines.append(f"took: {seconds_text(tick.seconds)}")
        if tick.refused:
            lines.append(f"refused: {tick.refused}")
        else:
            assert tick.position is not None
            lines.append(f"position: {tick.position[0]}, {tick.position[1]}")
            lines.append(f"moved bins: {count_text(tick.moved_bins)}")
            lines += tick.changes
    lines.append(f"workers: {proposal.workers_of_tick}")
    if proposal.readers:
        lines.append(f"readers of the input, in order: {', '.join(map(str, proposal.readers))}")
    if proposal.owners:
        lines += ["owners (worker, first bin, end):", *_range_lines(proposal.owners)]
    else:
        lines.append(f"owners{' of others' if proposal.exchanges else ''}: as before")
    for exchange, ranges in proposal.exchanges:
        lines += [f"exchange {exchange}", *_range_lines(ranges)]
    return "\n".join(lines) + "\n"


def _range_lines(ranges: OwnerRanges) -> list[str]:
    return [f"{owner} {first} {end}" for owner, first, end in ranges]


def _time_text(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
