"""The messages between workers, acker and barrier.

They refer to stages by their index in the tick plan, to the barrier as the stage after the last one, and to
fronts by their number.
"""

from __future__ import annotations

import enum
from dataclasses import field
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.records import dataclass
from fsql.runtime.batch import Root  # noqa: TC001 - the wire format reads the types of fields
from fsql.runtime.dataflow.invariants import check_not_below
from fsql.runtime.hashing import mix

if TYPE_CHECKING:
    from fsql.runtime.batch import Batch
    from fsql.runtime.ports import DeadLetter


class Kind(enum.Enum):
    """The kind of an entry of the ack table."""

    MESSAGE = 0
    HOLD = 1


class AckEntry(NamedTuple):
    """An id that enters or leaves the ack table, under a stage, a kind and a least root position."""

    stage: int
    kind: Kind
    root: Root
    id: int


class PortKind(enum.Enum):
    """The ports of the barrier."""

    SINK = 0
    LATE = 1
    ERROR = 2
    DEAD_LETTER = 3


class Address(NamedTuple):
    """Where rows go: input `side` of the fold at `stage`, or a port of the barrier (`stage` after the last).

    At a port, `side` is the number of the INSERT or of the window.  `stops_job` is set for
    dead letters of a table with `on_error` = 'stop': the job stops at the first of them.  `shard` is the
    number of the shard where rows go to the worker that writes it, else -1.
    """

    stage: int
    side: int = 0
    port: PortKind | None = None
    stops_job: bool = False
    shard: int = -1


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows in flight.

    `repairs` says that a fold sends them to correct earlier output.  `moved` says that a change of owners is
    under way, and that their keys have moved to the receiver (`routing`).
    """

    to: Address
    batch: Batch | None
    repairs: bool = False
    dead_letters: tuple[tuple[Root, DeadLetter], ...] = ()
    moved: bool = False

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.dead_letters) + (0 if self.batch is None else len(self.batch))

    def least_root(self) -> Root:
        """Return the least root position in the parcel."""
        roots = [root for root, _ in self.dead_letters]
        if self.batch is not None:
            roots.append(self.batch.span().least)
        return min(roots)


@dataclass(frozen=True, slots=True)
class Message:
    """A parcel on a link, with the id under which the ack table knows it and its least root."""

    parcel: Parcel
    id: int
    root: Root

    def check(self) -> None:
        """Check that the root of the message, which the ack table has, is not above any of its rows.

        Raises:
            InvariantError: if it has rows below its root.
        """
        check_not_below(self.parcel.least_root(), self.root, "rows of a message")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A combined acknowledgement: the ids of the consumed message and of all sent ones, applied at once."""

    entries: tuple[AckEntry, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """`front` sends nothing below `root` any more; this follows the acknowledgements of all it has sent."""

    front: int
    root: Root


@dataclass(frozen=True, slots=True)
class MinTime:
    """Nothing below `root` can arrive at the input of `stage` any more."""

    stage: int
    root: Root


_PEER_BITS: Final = 12
_SEQUENCE_BITS: Final = 40


def link_number(sender: int, receiver: int) -> int:
    """Return the number of the link between two peers, each from 0 to 4095, for `Ids`."""
    assert 0 <= sender < 1 << _PEER_BITS > receiver >= 0, "too many peers for the ids of messages"
    return sender << _PEER_BITS | receiver


@dataclass(slots=True)
class Ids:
    """Makes message ids: a 64-bit mix of (epoch, link, sequence number), never the bare number.

    No two ids of an epoch are equal: the link has 24 bits, the sequence number 40, and the mix is a
    bijection.
    """

    epoch: int
    link: int
    sequence: int = field(default=0)

    def next(self) -> int:
        """Return the next id of the link."""
        self.sequence += 1
        return mix(mix(self.epoch) ^ (self.link << _SEQUENCE_BITS | self.sequence))
