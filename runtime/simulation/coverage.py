"""What a set of runs has met: a soak that never met something proves little about it.

`PROBES` are states of affairs that a soak must meet sometimes.  The table of faults has for each fault the
step of the protocol that it struck.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

PROBES: Final = (
    "finished",
    "stopped at an error row",
    "recovered",
    "recovered twice or more",
    "recovered from a snapshot",
    "recovered with another number of workers",
    "snapshot committed",
    "snapshot refused by a worker",
    "snapshot not stored",
    "manifest not committed",
    "older manifest used",
    "epoch given up before it ran",
    "front granted beyond its lead",
    "repairs under way",
    "rows held",
    "late rows under way",
    "rejects under way",
    "bundle in several parts",
    "bundle came twice",
    "bundle refused by its consumer",
    "bundle of an old coordinator",
    "lease lost",
    "two coordinators",
    "stopped process went on",
    "frame refused by its hash",
    "stranger refused",
)
"""What a soak must have met."""


@dataclass(slots=True)
class Coverage:
    """Counts of what was met."""

    probes: Counter[str] = field(default_factory=Counter)
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)

    def sometimes(self, probe: str) -> None:
        """Note that something was met that has to be met sometimes."""
        assert probe in PROBES, probe
        self.probes[probe] += 1

    def struck(self, fault: str, step: str) -> None:
        """Note that a fault struck at a step of the protocol."""
        self.cells[fault, step] += 1

    @property
    def faults(self) -> Counter[str]:
        """Return how often each fault struck."""
        totals: Counter[str] = Counter()
        for (fault, _), count in self.cells.items():
            totals[fault] += count
        return totals

    def add(self, other: Coverage) -> None:
        """Add what another run has met."""
        self.probes.update(other.probes)
        self.cells.update(other.cells)

    def never_met(self, probes: Iterable[str] = PROBES) -> list[str]:
        """Return the probes that were never met."""
        return [probe for probe in probes if not self.probes[probe]]
