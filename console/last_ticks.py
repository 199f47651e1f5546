"""The last ticks of a deployed job, for its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.numbers import counted_text
from fsql.compiler.records import dataclass
from fsql.console.tick_records import proposal_of, source_of, tick_fields
from fsql.job.ticks import has_coordination, read_ticks
from fsql.runtime.coordination.ticks import TickRecord

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.runtime.coordination.ticks import TickProposal

SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class LastTicks:
    """The last ticks, the newest first; or None, and the error in reading them."""

    ticks: tuple[TickProposal | TickRecord, ...] | None
    problem: str = ""

    @classmethod
    def of(cls, state: Path) -> LastTicks:
        """Read the last ticks of the job in a state directory; coordination may be unreachable."""
        try:
            if not has_coordination(state):
                return cls(())  # The job has not begun.
            proposal, records = read_ticks(state)
        except FsqlError as error:
            return cls(None, error.diagnostics[0].message)
        return cls(((() if proposal is None else (proposal,)) + tuple(records))[:SHOWN])

    def fields(self) -> list[dict[str, object]] | None:
        """Return the ticks as JSON objects."""
        return None if self.ticks is None else [tick_fields(each) for each in self.ticks]

    def lines(self) -> Iterator[str]:
        """Yield a line of text for each tick, and one for each change of it and each reason of a change."""
        if self.ticks is None:
            yield f"  ticks cannot be read: {self.problem}"
        for tick in self.ticks or ():
            source = source_of(proposal_of(tick))
            by = f"; statistics: {source}" if source else ""
            yield f"  tick {proposal_of(tick).tick} {_end_text(tick)}{by}"
            yield from (f"    {each}" for each in _details(tick))


def _end_text(tick: TickProposal | TickRecord) -> str:
    if not isinstance(tick, TickRecord):
        return "is proposed"
    if tick.refused:
        return f"was refused: {tick.refused}"
    return f"was taken, {counted_text(tick.moved_bins, 'bin')} moved"


def _details(tick: TickProposal | TickRecord) -> tuple[str, ...]:
    """Return the changes and the reason; of an automatic tick, the reasons of its changes only."""
    proposal = proposal_of(tick)
    if proposal.automatic is not None:
        return tuple(str(each) for each in proposal.automatic.reasons if each.changes)
    changes = tick.changes if isinstance(tick, TickRecord) else ()
    return (*changes, *proposal.reason_lines)
