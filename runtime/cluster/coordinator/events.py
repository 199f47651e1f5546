"""The events that the coordinator node takes, and the effects that it returns; see `node`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.node import Computed, Received, TimerFired, Transmit
from fsql.runtime.cluster.ticks.events import Layout, TickEffect, TickEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.dataflow.barrier import Stopped
    from fsql.runtime.dataflow.metrics import Metrics


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """Event: the lease is held until `until`, in seconds of the same clock as `now`."""

    until: float


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """Event: the lease is not held, so another coordinator may hold it; `reason` is the cause, if known.

    `disk_failed` says that the disk of coordination is full or fails.
    """

    reason: str = ""
    disk_failed: bool = False


@dataclass(frozen=True, slots=True)
class WorkerExited:
    """Event: the launcher reports that the process at an address has exited."""

    address: str


@dataclass(frozen=True, slots=True)
class TakeEpoch:
    """Effect: get the number of a new epoch, and the newest snapshot that verifies.  Answer: `EpochTaken`."""


@dataclass(frozen=True, slots=True)
class EpochTaken:
    """Event: `epoch` is greater than all before; `manifest` is that of the newest snapshot, if there is one.

    `last` is the layout of the last tick that was taken, if there is one.
    """

    epoch: int
    manifest: Manifest | None
    last: Layout | None = None


@dataclass(frozen=True, slots=True)
class StateLost:
    """Event: no epoch can be taken because committed state cannot be read; retrying is useless."""

    diagnostics: bytes


@dataclass(frozen=True, slots=True)
class OpenSinks:
    """Effect: open the sink of every output.  Answer: `SinkOpened` for each.

    `begins` is the position from which the input is replayed.  Workers write the outputs `written`, whose
    sinks are opened for their positions only.
    """

    epoch: int
    begins: Root
    written: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class SinkOpened:
    """Event: the sink of output number `output` is open, and has stored everything below `position`.

    It accepts at most `window` bundles that are not acknowledged.
    """

    epoch: int
    output: int
    position: Root
    window: int


@dataclass(frozen=True, slots=True)
class Deliver:
    """Effect: send a bundle to the sink of an output.  Answer: `Delivered`, when the bundle is stored."""

    epoch: int
    output: int
    bundle: Bundle


@dataclass(frozen=True, slots=True)
class Delivered:
    """Event: the sink of an output has stored everything below `position`."""

    epoch: int
    output: int
    position: Root


@dataclass(frozen=True, slots=True)
class SinkLost:
    """Event: the sink of an output does not answer, or refused; `diagnostics` if it has failed permanently.

    `disk_failed` says that the disk of the sink is full or fails.
    """

    output: int
    reason: str
    diagnostics: bytes | None = None
    disk_failed: bool = False


@dataclass(frozen=True, slots=True)
class CommitManifest:
    """Effect: write the manifest and commit it.  Answer: `ManifestCommitted` or `ManifestNotCommitted`.

    This also answers the request for a snapshot with the id `request`, unless it is "".
    """

    manifest: Manifest
    request: str = ""


@dataclass(frozen=True, slots=True)
class ManifestCommitted:
    """Event: the manifest is committed; `unneeded` has, by store, the keys that no kept manifest names."""

    epoch: int
    snapshot: int
    unneeded: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SnapshotRequested:
    """Event: a snapshot is requested, under an id; a `last` snapshot ends the run at its position."""

    request: str
    last: bool


@dataclass(frozen=True, slots=True)
class ManifestNotCommitted:
    """Event: the manifest could not be written or committed."""

    epoch: int
    snapshot: int
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Effect: report the phase, the epoch, the last failure in `detail`, and the metrics.

    `held` is the front with the least promise, and this promise; `begins` is where the epoch began.
    `problems` last.  `workers` are needed now; those at the addresses `idle` are not.
    """

    phase: str
    epoch: int
    detail: str
    metrics: Metrics
    held: tuple[int, Root]
    begins: Root
    problems: tuple[str, ...] = ()
    workers: int = 0
    idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """Effect: the job has ended: it is finished, or `stopped` at an error row.

    With `diagnostics` (JSON) it cannot continue: a source cannot be read, or an output cannot be written.
    `refused` has the output whose sink reports an impossible position, and the reason.
    With `drained` it can continue later: everything below the position of a committed snapshot is stored by
    every sink, and nothing at or above it was released.
    """

    stopped: Stopped | None = None
    diagnostics: bytes | None = None
    refused: tuple[int, str] | None = None
    drained: bool = False


CoordinatorEvent: TypeAlias = (
    Received
    | TickEvent
    | TimerFired
    | Computed
    | LeaseHeld
    | LeaseLost
    | WorkerExited
    | EpochTaken
    | SnapshotRequested
    | StateLost
    | SinkOpened
    | Delivered
    | SinkLost
    | ManifestCommitted
    | ManifestNotCommitted
)
CoordinatorEffect: TypeAlias = (
    TickEffect | Transmit | TakeEpoch | OpenSinks | Deliver | CommitManifest | Progress | Finish
)
