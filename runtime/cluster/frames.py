"""What travels between nodes: frames of items on links, and datagrams beside them.

See `docs/internals/distribution.md`, sections 2 to 4.  All of it is data; `fsql.runtime.wire` makes
bytes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.manifest import StateSegment
    from fsql.runtime.dataflow.messages import Acknowledgement, Message, MinTime, Promise
    from fsql.runtime.dataflow.resume_point import ResumePoint

COORDINATOR: Final = -1
"""The coordinator's number as a sender or receiver; workers are numbered from 0."""

UNHEARD: Final = "nothing is heard from the others"
"""Why a worker leaves that has been told nothing for too long, by its coordinator or by a peer."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has loaded its state, and all its holds are acknowledged (they come before this)."""


@dataclass(frozen=True, slots=True)
class Start:
    """All are ready: fronts may read."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """`front`, which has promised `promise`, may not read: it is as far ahead as its lead allows."""

    front: int
    promise: Root


@dataclass(frozen=True, slots=True)
class Credit:
    """`front`, which has promised `promise`, may read a chunk beyond its lead: nothing is in flight."""

    front: int
    promise: Root


@dataclass(frozen=True, slots=True)
class AnnounceSnapshot:
    """A snapshot of the state as of `position` is wanted."""

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
    """The snapshot is not wanted any more."""

    snapshot: int


@dataclass(frozen=True, slots=True)
class SnapshotAcknowledged:
    """The worker has stored its part: all records that its state at the position is made of."""

    snapshot: int
    records: tuple[StateSegment, ...]
    fronts: tuple[ResumePoint, ...]


@dataclass(frozen=True, slots=True)
class SnapshotDeclined:
    """The worker could not store its part; its increments go with the next snapshot."""

    snapshot: int
    reason: str


@dataclass(frozen=True, slots=True)
class SnapshotCommitted:
    """The snapshot's manifest is committed; records of `unneeded` keys may go."""

    snapshot: int
    position: Root
    unneeded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerMetrics:
    """What a worker has done so far in this epoch, for whoever watches.

    `behind_us` is how old the oldest chunk is of which not all is out, in microseconds, `rows_unreleased`
    about how many rows were read that lie behind what is out.
    """

    rows_in: int
    bytes_in: int
    rows_redone: int
    rows_held: int
    rows_state: int
    messages: int
    unknown_fields: int = 0
    behind_us: int = 0
    rows_unreleased: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker cannot go on, and another attempt would not help: a source that cannot be read, say.

    `diagnostics` is JSON, made and read by the driver.
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
    | WorkerMetrics
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
    """A worker that is in no epoch wants to take part; `worker` is its own name, new at each start."""

    job: str
    worker: str
    address: str


@dataclass(frozen=True, slots=True)
class Begin:
    """The coordinator of `epoch` wants `worker` to take part as number `number`.

    `addresses` are those of the workers by number; `description` says what the job is and `manifest` from
    which snapshot it goes on (empty: from the beginning).  Who is silent for `failure_after` seconds is
    given up in this epoch.
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
    """The sender lives and is in `epoch` as number `sender`."""

    job: str
    epoch: int
    sender: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The sender leaves `epoch`; a coordinator that has `finished` lets its workers end.

    `reason` is why a worker leaves; `broken_invariant` says that it has found one broken.
    """

    job: str
    epoch: int
    sender: int
    finished: bool
    reason: str = ""
    broken_invariant: bool = False


Datagram = Hello | Begin | Heartbeat | Goodbye
