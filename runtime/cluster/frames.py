"""What travels between nodes: frames of items on links, and datagrams beside them.

See `docs/internals/distribution.md`, sections 2 to 4.  `fsql.runtime.wire` encodes
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.runtime.metrics import Metrics

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.manifest import StateSegment
    from fsql.runtime.dataflow.messages import Acknowledgement, Message, MinTime, Promise
    from fsql.runtime.dataflow.resume_point import ResumePoint

COORDINATOR: Final = -1
"""The coordinator's number as a sender or receiver; workers are numbered from 0."""

UNHEARD: Final = "no message from the others"
"""The reason of a worker that leaves because its coordinator or a peer has been silent for too long."""


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
    """`front`, which has promised `promise`, may read one more chunk, as nothing is in flight."""

    front: int
    promise: Root


@dataclass(frozen=True, slots=True)
class AnnounceSnapshot:
    """A snapshot of the state as of `position` is to be taken."""

    snapshot: int
    position: Root


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
    """The worker has stored its part: `records` are all segments of its state at the position."""

    snapshot: int
    records: tuple[StateSegment, ...]
    fronts: tuple[ResumePoint, ...]


@dataclass(frozen=True, slots=True)
class SnapshotDeclined:
    """The worker could not store its part; its increments become part of the next snapshot."""

    snapshot: int
    reason: str


@dataclass(frozen=True, slots=True)
class SnapshotCommitted:
    """The manifest of the snapshot is committed; segments of `unneeded` keys may be removed."""

    snapshot: int
    position: Root
    unneeded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker has failed for good; for example a source cannot be read.

    `diagnostics` is JSON, written and read by the hosts.
    """

    diagnostics: bytes


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
)
Item: TypeAlias = "Message | Acknowledgement | Promise | MinTime | Control"


@dataclass(frozen=True, slots=True)
class Frame:
    """Items from one node to another, in order.

    `sequence` counts the frames of the link from 1; 0 is a frame without items, which only
    acknowledges. `acknowledged` is the greatest sequence number up to which all frames of the link in
    the other direction have come.
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
    """A worker that is in no epoch offers to take part; `worker` is its name, new at each start."""

    job: str
    worker: str
    address: str


@dataclass(frozen=True, slots=True)
class Begin:
    """The coordinator of `epoch` has `worker` take part as number `number`.

    `addresses` are those of the workers by number; `description` describes the job, and `manifest` is
    the snapshot to start from (empty: from the beginning).  A node that is silent for `failure_after` seconds
    has failed in this epoch.
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


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The sender is alive, and in `epoch` as number `sender`."""

    job: str
    epoch: int
    sender: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The sender leaves `epoch`; the workers of a coordinator that has `finished` may exit.

    `reason` is why a worker leaves; `broken_invariant` says that it has found one broken, and
    `disk_failed` that it cannot use its store.
    """

    job: str
    epoch: int
    sender: int
    finished: bool
    reason: str = ""
    broken_invariant: bool = False
    disk_failed: bool = False


Datagram = Hello | Begin | Heartbeat | Goodbye
