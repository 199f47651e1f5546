"""Coverage of a set of runs: a soak proves little about a situation that never occurred in it.

`PROBES` are situations that have to occur in a soak.  The table of faults shows, for each fault, the steps of
the protocol at which it occurred.  `STEPS` are those at which some fault has to occur: each kind of message,
and before and after every effect at which a process can be killed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

PROBES: Final = (
    "finished",
    "stopped at an error row",
    "recovered",
    "recovered twice or more",
    "recovered from a snapshot",
    "recovered with another number of workers",
    "tick taken",
    "tick refused",
    "plan changed",
    "front moved",
    "rows rebalanced",
    "worker joined",
    "worker left",
    "snapshot committed",
    "snapshot refused by a worker",
    "snapshot not stored",
    "manifest not committed",
    "older manifest used",
    "epoch given up before it ran",
    "front granted beyond its read-ahead",
    "repairs under way",
    "rows held",
    "late rows under way",
    "rejects under way",
    "bundle in several parts",
    "bundle came twice",
    "bundle refused by its consumer",
    "bundle of an old coordinator",
    "lease ended by the launcher",
    "lease lost",
    "lease renewed after it ran out",
    "two coordinators",
    "stopped process went on",
    "frame refused by its hash",
    "stranger refused",
    "input that cannot be read again",
    "end of a front log lost",
)
"""Situations that have to occur in a soak, except those of `SELDOM`."""

MALFORMED_ROW_PROBES: Final = ("stopped at an error row", "rejects under way")
"""The probes that occur only with malformed rows, which the input of a user may not have."""

SELDOM: Final = ("bundle refused by its consumer",)
"""The probes that occur about once in a thousand seeds, so that a soak may lack them."""


KILL_EFFECTS: Final = {
    "worker": (
        *("Transmit", "Load", "CopyBins", "Store", "Trim"),
        *("OpenReader", "CloseReader", "Close", "Leave"),
    ),
    "coordinator": ("Transmit", "TakeEpoch", "OpenSinks", "Deliver", "CommitManifest", "Finish"),
}
"""The effects before or after which a node is killed, by the kind of node."""

KILL_EFFECTS_OF_WRITERS: Final = ("DeliverShard", "SyncSinks")
"""Further effects of workers that write shards."""

MESSAGES: Final = (
    "Hello",
    "Begin",
    "Heartbeat",
    "Goodbye",
    "Ready",
    "Start",
    "Message",
    "Acknowledgement",
    "Promise",
    "MinTime",
    "Metrics",
    "Blocked",
    "Credit",
    "AnnounceSnapshot",
    "SnapshotAnswer",
    "CancelSnapshot",
    "SnapshotAcknowledged",
    "SnapshotDeclined",
    "SnapshotCommitted",
    "PrepareTick",
    "TickCopied",
    "TickPrepared",
    "StatePart",
    "Switch",
    "BinsReleased",
    "BinsAdopted",
    "FrontReleased",
    "AdoptFront",
    "TickCompleted",
    "ReleaseShards",
    "ShardsReleased",
    "SyncShards",
    "ShardsSynced",
    "Failure",
    "Frame",
)
"""The kinds of messages: datagrams, the items of frames, and frames that only acknowledge."""

STEPS: Final = (
    *MESSAGES,
    *(
        f"{kind} {side} {effect}"
        for kind, effects in (*KILL_EFFECTS.items(), ("worker", KILL_EFFECTS_OF_WRITERS))
        for effect in effects
        for side in ("before", "after")
        if (side, effect) != ("after", "Leave")
    ),
)
"""The steps at which some fault has to occur; a worker that has left cannot be killed."""


@dataclass(slots=True)
class Coverage:
    """Counts of probes, of faults, and of faults by step."""

    probes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)

    def sometimes(self, probe: str) -> None:
        """Record that a probe has occurred."""
        assert probe in PROBES, probe
        self.probes[probe] += 1

    def record_fault(self, fault: str, *steps: str) -> None:
        """Record a fault at a step of the protocol, or at several at once."""
        self.faults[fault] += 1
        for step in steps:
            self.cells[fault, step] += 1

    def add(self, other: Coverage) -> None:
        """Add the counts of another run."""
        self.probes.update(other.probes)
        self.faults.update(other.faults)
        self.cells.update(other.cells)

    def unmet_probes(self, probes: Iterable[str] = PROBES) -> list[str]:
        """Return the probes that never occurred."""
        return [probe for probe in probes if not self.probes[probe]]

    def missing_faults(self, faults: Iterable[str]) -> list[str]:
        """Return the faults that never occurred, and the steps at which none occurred."""
        steps = {step for _, step in self.cells}
        missing = [f"fault: {fault}" for fault in faults if not self.faults[fault]]
        return missing + [f"step: {step}" for step in STEPS if step not in steps]

    def table(self) -> str:
        """Return a table with a line for each step: its faults, and how often each occurred."""
        by_step: dict[str, list[tuple[int, str]]] = {}
        for (fault, step), count in self.cells.items():
            by_step.setdefault(step, []).append((-count, fault))
        others = sorted(step for step in by_step if step not in STEPS)
        lines = []
        for step in (*STEPS, *others):
            cells = sorted(by_step.get(step, []))
            struck = ", ".join(f"{fault} {-count:,}" for count, fault in cells)
            lines.append(f"{step:<34} {struck or 'never'}")
        return "\n".join(lines) + "\n"
