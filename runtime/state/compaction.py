"""Compaction: which state segments of an operator are merged, and when, so that loading stays cheap.

The state of an operator is a chain of segments, oldest first: the **base**, followed by pieces whose levels
never increase.  A new incremental snapshot is a piece of level 0 at the end.

* Once the chain ends with `FAN` pieces of one level, they are merged into one piece of the next level.  So
  there are few pieces, and each row is written once per level.
* The whole chain is merged into a new base once it is larger than `SPACE_FACTOR * base + SLACK_BYTES` or
  `SPACE_FACTOR * live + SLACK_BYTES`, where `base` is the size of the base and `live` that of the rows that
  have not expired.  The first limit bounds the space of overwritten rows, the second that of expired rows.

So loading reads at most about `SPACE_FACTOR` times the size of the state at the last full merge, and at most
about `SPACE_FACTOR` times the size of the rows that have not expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.kernels.keyed.incremental_snapshot import EXPIRES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.cluster.snapshots.manifest import StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

FAN: Final = 8
SPACE_FACTOR: Final = 4
SLACK_BYTES: Final = 1 << 16
_SAMPLES: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class ChainPiece:
    """A segment of a chain, with a sorted sample of the expiry times of its rows.

    `text` holds the size in bytes of each of its columns of strings and arrays.
    """

    segment: StateSegment
    expires: NDArray[np.int64]
    text: tuple[int, ...] = ()

    def live_bytes(self, time: int) -> float:
        """Return the approximate size in bytes of the rows that have not expired at `time`."""
        expired = np.searchsorted(self.expires, time, side="left") / len(self.expires)
        return self.segment.size * (1.0 - float(expired))


def expiry(snapshot: IncrementalSnapshot) -> NDArray[np.int64]:
    """Return the sample of expiry times for the `ChainPiece` of a non-empty incremental snapshot."""
    times = snapshot.rows.column(EXPIRES).to_numpy(zero_copy_only=False)
    indexes = np.linspace(0, len(times) - 1, min(_SAMPLES, len(times))).astype(np.int64)
    return np.sort(times[indexes])


class CompactionPlan(NamedTuple):
    """A new incremental snapshot and the pieces from `start` on become one piece of level `level`."""

    start: int
    level: int


def plan(chain: Sequence[ChainPiece], size: int, time: int) -> CompactionPlan:
    """Return how to add an incremental snapshot of about `size` bytes to `chain` at `time`."""
    if not chain:
        return CompactionPlan(0, 0)
    base = chain[0]
    total = size + sum(piece.segment.size for piece in chain)
    live = size + sum(piece.live_bytes(time) for piece in chain)
    if total > SPACE_FACTOR * min(base.segment.size, live) + SLACK_BYTES:
        return CompactionPlan(0, 0)
    levels = [piece.segment.level for piece in chain[1:]]
    start, level = len(chain), 0
    while levels[-FAN + 1 :] == [level] * (FAN - 1):
        del levels[-FAN + 1 :]
        start, level = start - FAN + 1, level + 1
    return CompactionPlan(start, level)
