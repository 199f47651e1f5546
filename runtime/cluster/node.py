"""The events that nodes take and the effects that they return.

A node is a state machine: `step(event, now) -> effects`, in seconds of the host's monotonic clock; it needs a
`TimerFired` by `next_timer()`.  A host carries out effects in order; some are answered by an event, later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from fsql.runtime.cluster.tick_events import (
    BinsCopied,
    BinsNotCopied,
    Layout,
    Ownership,
    TickEffect,
    TickEvent,
    WorkerTickEffect,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery import Bundle
    from fsql.runtime.cluster.frames import Begin, Datagram, Frame
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.manifest import Manifest, StateSegment
    from fsql.runtime.dataflow.barrier import Stopped
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import Chunk, SourceOffset, Wait


@dataclass(frozen=True, slots=True)
class Received:
    """Event: a frame or datagram came; `source` is the address it came from."""

    what: Frame | Datagram
    source: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    """Event: time has passed, and all received frames have been handed in."""


@dataclass(frozen=True, slots=True)
class Transmit:
    """Effect: send to an address; it may get lost."""

    address: str
    what: Frame | Datagram


# The worker.


@dataclass(frozen=True, slots=True)
class Load:
    """Effect: prepare an epoch: the plan, readers at the resume points of the manifest, the state.

    Readers and stores of an earlier epoch are closed first.  Answer: `Loaded` or `NotLoaded`.
    """

    begin: Begin


@dataclass(frozen=True, slots=True)
class Loaded:
    """Event: everything is loaded; `state` has the incremental snapshots of each operator, oldest first.

    `settings` are those of the job, and `encodings` those of its INSERTs whose rows workers encode.
    """

    epoch: int
    plan: TickPlan
    fronts: tuple[FrontTask, ...]
    state: Mapping[str, tuple[IncrementalSnapshot, ...]]
    settings: Settings
    encodings: Mapping[int, RowEncoding] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """Event: loading failed, by a disk if `disk_failed`; with `diagnostics` (JSON) retrying is useless."""

    epoch: int
    reason: str
    diagnostics: bytes | None = None
    disk_failed: bool = False


@dataclass(frozen=True, slots=True)
class LeaderFound:
    """Event: the coordinator that holds the lease has this address."""

    address: str


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """Event: front number `front` has read; its reader stood at `source_offset` before.  None is its end.

    For monitoring: the `seconds` of the read, those on the processor, and the bytes passed of its file.
    """

    front: int
    chunk: Chunk | Wait | None
    source_offset: SourceOffset
    seconds: float = 0.0
    bytes_passed: int = 0
    busy_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """Event: the effects before `Yield` have been carried out."""


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """Event: a source cannot be read; retrying is useless."""

    diagnostics: bytes


@dataclass(frozen=True, slots=True)
class Store:
    """Effect: store incremental snapshots by operator, for `snapshot`.  Answer: `Stored` or `NotStored`.

    `ownership` has the bins that the worker owns from this snapshot on, if they change.
    """

    epoch: int
    snapshot: int
    position: Root
    changes: tuple[tuple[str, IncrementalSnapshot], ...]
    ownership: Ownership | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Event: all is stored; `segments` are the segments of the worker's state at the position."""

    epoch: int
    snapshot: int
    segments: tuple[StateSegment, ...]


@dataclass(frozen=True, slots=True)
class NotStored:
    """Event: the snapshot is not stored; the host stores these changes with the next ones."""

    epoch: int
    snapshot: int
    reason: str


@dataclass(frozen=True, slots=True)
class Trim:
    """Effect: remove the segments under these keys, and front logs below the resume points."""

    snapshot: int
    unneeded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """Effect: close readers and stores of the epoch."""


@dataclass(frozen=True, slots=True)
class Yield:
    """Effect: carry out the effects before this, then step with `Resumed`: the worker has more to do."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Effect: the job is finished; the worker may exit."""


WorkerEvent: TypeAlias = (
    Received
    | TimerFired
    | LeaderFound
    | Loaded
    | NotLoaded
    | ChunkRead
    | Resumed
    | SourceFailed
    | Stored
    | NotStored
    | BinsCopied
    | BinsNotCopied
)
WorkerEffect: TypeAlias = Transmit | Yield | Load | WorkerTickEffect | Store | Trim | Close | Leave

# The coordinator.


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """Event: the lease is held until `until`, in seconds of the clock that `now` is of."""

    until: float


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """Event: another coordinator may hold the lease; `reason` is any other cause.

    `disk_failed` says that coordination has no room on its disk, or cannot use it.
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
    """Event: no epoch can be taken, as committed state cannot be read; retrying is useless."""

    diagnostics: bytes


@dataclass(frozen=True, slots=True)
class OpenSinks:
    """Effect: open the sink of every output.  Answer: `SinkOpened` for each.

    `begins` is the position from which the input is replayed.
    """

    epoch: int
    begins: Root


@dataclass(frozen=True, slots=True)
class SinkOpened:
    """Event: the sink of output number `output` is open, and has stored everything below `position`.

    It takes at most `window` bundles that are not acknowledged.
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
    """Event: the sink of an output does not answer, or refused; `diagnostics` if it has failed for good.

    `disk_failed` says that the sink has no room on its disk, or cannot use it.
    """

    output: int
    reason: str
    diagnostics: bytes | None = None
    disk_failed: bool = False


@dataclass(frozen=True, slots=True)
class CommitManifest:
    """Effect: write the manifest and commit it.  Answer: `ManifestCommitted` or `ManifestNotCommitted`.

    It answers the request for a snapshot with the id `request`, if that is not "".
    """

    manifest: Manifest
    request: str = ""


@dataclass(frozen=True, slots=True)
class ManifestCommitted:
    """Event: the manifest is committed; `unneeded` are, by worker, keys that no kept manifest names."""

    epoch: int
    snapshot: int
    unneeded: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SnapshotRequested:
    """Event: a snapshot is requested, under an id; the `last` one ends the run at its position."""

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
    `troubles` last.  `workers` are needed now; those at the addresses `idle` are not.
    """

    phase: str
    epoch: int
    detail: str
    metrics: Metrics
    held: tuple[int, Root]
    begins: Root
    troubles: tuple[str, ...] = ()
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
