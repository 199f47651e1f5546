"""The items on links in transcripts of `coordinator` and `worker`: a word each, in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import (
    AnnounceSnapshot,
    Blocked,
    CancelSnapshot,
    Credit,
    Failure,
    Ready,
    SnapshotAcknowledged,
    SnapshotAnswer,
    SnapshotCommitted,
    SnapshotDeclined,
    Start,
)
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Address,
    Kind,
    Message,
    MinTime,
    Parcel,
    PortKind,
    Promise,
)
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.tests.protocol_commands import (
    BARRIER,
    FOLD,
    dead_letter,
    position,
    position_name,
    rows,
)
from fsql.tests.protocol_ticks import (
    tick_item_of,
    tick_item_text,
)

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Item


def item_of(words: list[str]) -> tuple[Item, ...]:  # noqa: C901, PLR0911, PLR0912 - one case for each kind
    """Return the items that the words stand for."""
    of_tick = tick_item_of(words)
    if of_tick is not None:
        return (of_tick,)
    match words:
        case ["nothing"]:
            return ()
        case ["ready"]:
            return (Ready(),)
        case ["start"]:
            return (Start(),)
        case ["promise", at]:
            return (Promise(0, position(at)),)
        case ["row", at]:
            return _to_barrier(Parcel(Address(BARRIER, 0, PortKind.SINK), rows([int(at)])))
        case ["stop-at", at]:
            to = Address(BARRIER, 0, PortKind.DEAD_LETTER, stops_job=True)
            return _to_barrier(Parcel(to, None, dead_letters=(dead_letter(int(at)),)))
        case ["row-below", at]:
            batch = rows([int(at) - 1])
            parcel = Parcel(Address(BARRIER, 0, PortKind.SINK), batch)
            return (Message(parcel, 1, position(at)),)
        case ["hold", at]:
            return (Acknowledgement((AckEntry(FOLD, Kind.HOLD, position(at), 99),)),)
        case ["min-time", stage, at]:
            return (MinTime(int(stage), position(at)),)
        case ["announce", number, at]:
            return (AnnounceSnapshot(int(number), position(at)),)
        case ["accept", number, reached]:
            return (SnapshotAnswer(int(number), accepted=True, reached=position(reached)),)
        case ["refuse", number, reached]:
            return (SnapshotAnswer(int(number), accepted=False, reached=position(reached)),)
        case ["blocked", at]:
            return (Blocked(0, position(at)),)
        case ["cancel", number]:
            return (CancelSnapshot(int(number)),)
        case ["stored", number]:
            point = ResumePoint(0, 0, 1, 0, 0)
            return (SnapshotAcknowledged(int(number), (), (point,)),)
        case ["committed", number, at]:
            return (SnapshotCommitted(int(number), position(at), ()),)
        case ["declined", number, *reason]:
            return (SnapshotDeclined(int(number), " ".join(reason)),)
        case _:
            raise AssertionError(words)


def _to_barrier(parcel: Parcel) -> tuple[Item, ...]:
    """Return a message to the barrier, and its sender's acknowledgement."""
    root = parcel.least_root()
    entry = AckEntry(BARRIER, Kind.MESSAGE, root, root.time + 1)
    return Message(parcel, root.time + 1, root), Acknowledgement((entry,))


def item_text(item: Item) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind
    """Return an item as a transcript has it."""
    match item:
        case Ready():
            return "ready"
        case Start():
            return "start"
        case Blocked(_, promise):
            return f"blocked at {position_name(promise)}"
        case Credit(_, promise):
            return f"credit at {position_name(promise)}"
        case Promise(_, root):
            return f"promise {position_name(root)}"
        case MinTime(stage, root):
            return f"min-time {stage} {position_name(root)}"
        case AnnounceSnapshot(number, root, tick):
            return f"announce {number} {position_name(root)}" + f" of tick {tick}" * bool(tick)
        case SnapshotAnswer(number, accepted, reached):
            return f"{'accept' if accepted else 'refuse'} {number} {position_name(reached)}"
        case CancelSnapshot(number):
            return f"cancel {number}"
        case SnapshotAcknowledged(number):
            return f"stored {number}"
        case SnapshotDeclined(number, reason):
            return f"declined {number} {reason}"
        case SnapshotCommitted(number, root):
            return f"committed {number} {position_name(root)}"
        case Metrics():
            return "metrics"
        case Failure():
            return "failure"
        case Message():
            return "rows"
        case Acknowledgement():
            return "acknowledgement"
        case _:
            return tick_item_text(item)
