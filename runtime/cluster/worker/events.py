"""The events that a worker node takes, and the effects that it returns; see `node`."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.node import Computed, Received, TimerFired, Transmit
from fsql.runtime.cluster.ticks.events import (
    BinsCopied,
    BinsNotCopied,
    Ownership,
    WorkerTickEffect,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.analysis.sharding import Sharding
    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.job_spec import Output, ResultDifference, Settings
    from fsql.runtime.cluster.snapshots.manifest import StateSegment
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import Chunk, SourceOffset, Wait


@dataclass(frozen=True, slots=True)
class Load:
    """Effect: load the plan and the state of an epoch, and open readers at the resume points.

    Readers and stores of an earlier epoch are closed first.  Answer: `Loaded` or `NotLoaded`.
    """

    begin: Begin


@dataclass(frozen=True, slots=True)
class OpenedShard:
    """A shard whose sink is open: output `number` of the job, which has stored everything below `position`.

    The sink accepts at most `window` bundles that are not acknowledged.
    """

    number: int
    output: Output
    position: Root
    window: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """Event: everything is loaded; `state` has the incremental snapshots of each operator, oldest first.

    `number` is that of the worker in the epoch.  `fronts` are its own, and `tasks` are those of the job.
    `settings` are those of the job, and `encodings` those of its INSERTs whose rows workers encode.
    `shardings` are those of INSERTs with shards, and `shards` those that this worker writes.  `difference` is
    that of the last change of the plan.
    """

    epoch: int
    number: int
    plan: TickPlan
    fronts: tuple[FrontTask, ...]
    state: Mapping[str, tuple[IncrementalSnapshot, ...]]
    settings: Settings
    encodings: Mapping[int, RowEncoding] = field(default_factory=dict)
    tasks: tuple[FrontTask, ...] = ()
    shardings: Mapping[int, Sharding] = field(default_factory=dict)
    shards: tuple[OpenedShard, ...] = ()
    difference: ResultDifference | None = None


@dataclass(frozen=True, slots=True)
class StateRead:
    """Event: the host has read more state; `segments` counts the state segments."""

    segments: int


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """Event: loading failed, or state cannot be used any more, by a disk if `disk_failed`.

    With `diagnostics` (JSON) retrying is useless.  `state_damaged` says that stored state is not what was
    written.
    """

    epoch: int
    reason: str
    diagnostics: bytes | None = None
    disk_failed: bool = False
    state_damaged: bool = False


@dataclass(frozen=True, slots=True)
class LeaderFound:
    """Event: the coordinator that holds the lease has this address."""

    address: str


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """Event: front number `front` has read a chunk, from `source_offset` on; None is the end of its split.

    For monitoring: the `seconds` that the read took, its processor time, and the position in its file in
    bytes.
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
    """Event: the snapshot is stored; `segments` are the segments of the worker's state at the position."""

    epoch: int
    snapshot: int
    segments: tuple[StateSegment, ...]


@dataclass(frozen=True, slots=True)
class NotStored:
    """Event: the snapshot is not stored; the host stores its changes with the next snapshot."""

    epoch: int
    snapshot: int
    reason: str


@dataclass(frozen=True, slots=True)
class DeliverShard:
    """Effect: send a bundle to the sink of the shard that is output `number`.  Answer: `ShardStored`."""

    epoch: int
    number: int
    bundle: Bundle


@dataclass(frozen=True, slots=True)
class ShardStored:
    """Event: the sink of the shard that is output `number` has stored everything below `position`."""

    epoch: int
    number: int
    position: Root


@dataclass(frozen=True, slots=True)
class ShardLost:
    """Event: the sink of a shard does not answer, or refused; `diagnostics` if it has failed permanently.

    `disk_failed` says that the disk of the sink is full or fails.
    """

    epoch: int
    reason: str
    diagnostics: bytes | None = None
    disk_failed: bool = False


@dataclass(frozen=True, slots=True)
class SyncSinks:
    """Effect: make the stored rows of the shards survive a loss of power.  Answer: `SinksSynced`."""

    epoch: int
    snapshot: int


@dataclass(frozen=True, slots=True)
class SinksSynced:
    """Event: the stored rows of the shards survive a loss of power; if not, `reason` says why."""

    epoch: int
    snapshot: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trim:
    """Effect: remove the segments under these keys, and front logs below the resume points."""

    snapshot: int
    unneeded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenReader:
    """Effect: open a reader of a front, from a source offset on.  Answer: `NotLoaded`, if that fails."""

    epoch: int
    front: int
    source_offset: SourceOffset


@dataclass(frozen=True, slots=True)
class CloseReader:
    """Effect: close the reader of a front, which another worker continues."""

    front: int


@dataclass(frozen=True, slots=True)
class Close:
    """Effect: close the readers and stores of the epoch."""


@dataclass(frozen=True, slots=True)
class Yield:
    """Effect: carry out the effects before this one, then step with `Resumed`: work is left."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Effect: the job is finished; the worker may exit."""


_StateEvent: TypeAlias = Stored | NotStored | BinsCopied | BinsNotCopied | ShardStored | SinksSynced
LoadedEvent: TypeAlias = ChunkRead | Resumed | _StateEvent
"""The events that a worker takes once its state is loaded."""
EpochEvent: TypeAlias = Loaded | NotLoaded | ShardLost | _StateEvent
"""The events that name their epoch: they answer effects that may be of an earlier one."""
WorkerEvent: TypeAlias = (
    Received
    | TimerFired
    | Computed
    | StateRead
    | LeaderFound
    | SourceFailed
    | ChunkRead
    | Resumed
    | EpochEvent
)
ShardEffect: TypeAlias = DeliverShard | SyncSinks
WorkerEffect: TypeAlias = (
    Transmit
    | Yield
    | Load
    | WorkerTickEffect
    | Store
    | ShardEffect
    | Trim
    | OpenReader
    | CloseReader
    | Close
    | Leave
)
