"""The messages between nodes: frames of items on links, and datagrams.

See `docs/internals/distribution.md`, sections 2 to 4; `fsql.runtime.wire` encodes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.owners import ExchangeRanges, OwnerRanges  # noqa: TC001 - for the wire format
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.records import dataclass
from fsql.runtime.dataflow.metrics import Metrics

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.snapshots.manifest import StateSegment
    from fsql.runtime.dataflow.messages import Acknowledgement, Message, MinTime, Promise
    from fsql.runtime.dataflow.resume_point import ResumePoint
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

COORDINATOR: Final = -1
"""The coordinator's number as a sender or receiver; workers are numbered from 0."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has loaded its state; acknowledgements of all its holds precede this."""


@dataclass(frozen=True, slots=True)
class Start:
    """All workers are ready: fronts may read."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """`front`, which has promised `promise`, may not read: it has used up its read-ahead."""

    front: int
    promise: Root


@dataclass(frozen=True, slots=True)
class Credit:
    """`front`, which has promised `promise`, may read one more chunk, because nothing is in flight."""

    front: int
    promise: Root


@dataclass(frozen=True, slots=True)
class AnnounceSnapshot:
    """A snapshot of the state as of `position` is to be taken.

    With a `tick`, hash bins change owners at the position, as its `PrepareTick` says.
    """

    snapshot: int
    position: Root
    tick: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotAnswer:
    """Whether the worker takes part; `reached` is the greatest root that it has applied or promised."""

    snapshot: int
    accepted: bool
    reached: Root


@dataclass(frozen=True, slots=True)
class CancelSnapshot:
    """The snapshot is cancelled."""

    snapshot: int


@dataclass(frozen=True, slots=True)
class SnapshotAcknowledged:
    """The worker has stored its part: `segments` are all segments of its state at the position."""

    snapshot: int
    segments: tuple[StateSegment, ...]
    fronts: tuple[ResumePoint, ...]


@dataclass(frozen=True, slots=True)
class SnapshotDeclined:
    """The worker could not store its part; its incremental snapshots become part of the next snapshot."""

    snapshot: int
    reason: str


@dataclass(frozen=True, slots=True)
class SnapshotCommitted:
    """The manifest of the snapshot is committed; segments of `unneeded` keys may be removed."""

    snapshot: int
    position: Root
    unneeded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrepareTick:
    """The next tick: owners, choices and readers are those from its position on, as in `Begin`.

    Workers that will hand bins over send the stored state of these bins to the new owners.  `snapshots` says
    whether snapshots are taken meanwhile, which reduce the state that is left to hand over.
    """

    tick: int
    owners: OwnerRanges
    snapshots: bool = True
    choices: PlanChoices = NO_CHOICES
    readers: tuple[int, ...] = ()
    exchanges: ExchangeRanges = ()


@dataclass(frozen=True, slots=True)
class TickCopied:
    """The worker has sent nearly all stored state of the bins that it will hand over."""

    tick: int


@dataclass(frozen=True, slots=True)
class TickPrepared:
    """The worker has sent the state of the bins that it will hand over, except the last changes."""

    tick: int


@dataclass(frozen=True, slots=True)
class TickDeclined:
    """The worker cannot prepare the tick."""

    tick: int
    reason: str


@dataclass(frozen=True, slots=True)
class StatePart:
    """State of bins that the receiver will own: incremental snapshots by operator, oldest first.

    With `last`, this completes the state as of the position at which the owners change.
    """

    tick: int
    state: tuple[tuple[str, IncrementalSnapshot], ...]
    last: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """All workers have agreed: rows at or above the position of the tick go to the new owners.

    `holds` has, for each stage of a fold, the id of the hold for the bins that the receiver adopts.
    """

    tick: int
    holds: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BinsReleased:
    """The worker has handed its bins over, and has no hold for them any more."""

    tick: int


@dataclass(frozen=True, slots=True)
class BinsAdopted:
    """The worker has the state of all bins that it owns in the tick."""

    tick: int


@dataclass(frozen=True, slots=True)
class FrontReleased:
    """The worker has read a front up to the position of the tick, from which another worker continues it.

    The acknowledgements of all its rows precede this.  `point` is where the other worker resumes; if the
    front has `ended`, it has no rows there.
    """

    tick: int
    point: ResumePoint
    ended: bool


@dataclass(frozen=True, slots=True)
class AdoptFront:
    """The receiver continues a front from the position of the tick on, from `point`."""

    tick: int
    point: ResumePoint
    ended: bool


@dataclass(frozen=True, slots=True)
class TickCompleted:
    """All workers have their bins and fronts, and everything below the position of the tick is final."""

    tick: int


@dataclass(frozen=True, slots=True)
class MemberJoined:
    """Worker `number`, at `address`, has joined the epoch."""

    number: int
    address: str


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """Worker `number`, which owns nothing, has left the epoch."""

    number: int


@dataclass(frozen=True, slots=True)
class AbandonTick:
    """The tick, which has not been switched to, is abandoned."""

    tick: int


@dataclass(frozen=True, slots=True)
class ReleaseShards:
    """No row below `bound` can arrive any more: the worker releases and stores the rows of its shards."""

    bound: Root


@dataclass(frozen=True, slots=True)
class ShardsReleased:
    """All shards of the worker have stored everything below `bound`; `rows` counts the new rows by INSERT."""

    bound: Root
    rows: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SyncShards:
    """Request, for a snapshot, that the stored rows of the worker's shards survive a loss of power."""

    snapshot: int


@dataclass(frozen=True, slots=True)
class ShardsSynced:
    """The stored rows of the worker's shards survive a loss of power; if not, `reason` says why."""

    snapshot: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker has failed permanently; for example a source cannot be read.

    `diagnostics` is JSON, written and read by the hosts.
    """

    diagnostics: bytes


TickItem = TickCopied | TickPrepared | TickDeclined | BinsReleased | BinsAdopted | FrontReleased
"""The messages about a tick that a worker sends to the coordinator."""

Control = (
    Ready
    | Start
    | Blocked
    | Credit
    | AnnounceSnapshot
    | SnapshotAnswer
    | CancelSnapshot
    | SnapshotAcknowledged
    | SnapshotDeclined
    | SnapshotCommitted
    | Metrics
    | Failure
    | PrepareTick
    | TickItem
    | StatePart
    | Switch
    | AdoptFront
    | TickCompleted
    | AbandonTick
    | MemberJoined
    | MemberLeft
    | ReleaseShards
    | ShardsReleased
    | SyncShards
    | ShardsSynced
)
Item: TypeAlias = "Message | Acknowledgement | Promise | MinTime | Control"


@dataclass(frozen=True, slots=True)
class Frame:
    """Items from one node to another, in order.

    `sequence` counts the frames of the link from 1; 0 is a frame without items, which only
    acknowledges. `acknowledged` is the greatest sequence number up to which all frames of the link in
    the other direction have been received.
    """

    job: str
    tick: int
    epoch: int
    sender: int
    receiver: int
    sequence: int
    acknowledged: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Hello:
    """A worker that is in no epoch offers to join one; `worker` is its name, new at each start.

    `computed` is for how many seconds it has computed at most without a pause in its last epoch.
    """

    job: str
    worker: str
    address: str
    computed: float = 0.0


@dataclass(frozen=True, slots=True)
class Begin:
    """The coordinator of `epoch` has `worker` take part as number `number`.

    `members` are the numbers of the workers, ascending, and `addresses` their addresses; a worker that joins
    a running epoch is not among them.  `description` describes the job, and `manifest` is the snapshot to
    start from (empty: from the beginning).  A node that is silent for `failure_after` seconds has failed in
    this epoch.  `owners` is the owner map: worker, first bin and end of each range, and `exchanges` has the
    owner maps of the exchanges that have another one, by name.  `choices` are the fold policies and orders
    of filters, and `readers` has the worker that reads for each front, by number.  Workers below `writers`
    write the shards of sharded tables; with 0 the coordinator does.
    """

    job: str
    tick: int
    epoch: int
    worker: str
    number: int
    coordinator: str
    addresses: tuple[str, ...]
    description: bytes
    manifest: bytes
    failure_after: float
    owners: OwnerRanges = ()
    members: tuple[int, ...] = ()
    choices: PlanChoices = NO_CHOICES
    readers: tuple[int, ...] = ()
    writers: int = 0
    exchanges: ExchangeRanges = ()

    @property
    def identity(self) -> tuple[int, int]:
        """Return the epoch and the number; the pair is greater each time that a worker begins."""
        return self.epoch, self.number


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The sender is alive, and in `epoch` as number `sender`.

    While it loads its state, `loaded` changes with each part that it has read.
    """

    job: str
    epoch: int
    sender: int
    loaded: int = 0


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The sender leaves `epoch`; the workers of a coordinator that has `finished` may exit.

    `reason` is why a worker leaves; `broken_invariant` says that it has found a broken invariant, and
    `disk_failed` that it cannot read or write its state, because stored state is not what was written if
    `state_damaged`.  A coordinator sends this to one worker, with its number as `member`, if that worker
    leaves an epoch that continues; -1 stands for all workers.
    """

    job: str
    epoch: int
    sender: int
    finished: bool
    reason: str = ""
    broken_invariant: bool = False
    disk_failed: bool = False
    member: int = -1
    state_damaged: bool = False


Datagram = Hello | Begin | Heartbeat | Goodbye
