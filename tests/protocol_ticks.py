"""The items and events of ticks in transcripts of `coordinator` and `worker`.

`move 1` is a tick that gives all bins to worker 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import BINS
from fsql.runtime.batch import TIME_START
from fsql.runtime.cluster.frames import (
    AbandonTick,
    AdoptFront,
    AnnounceSnapshot,
    BinsAdopted,
    BinsReleased,
    FrontReleased,
    PrepareTick,
    StatePart,
    Switch,
    TickCompleted,
    TickCopied,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.ticks.events import BinsCopied, BinsNotCopied, TickEnded, TickProposed
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.tests.protocol_commands import FOLD, position, position_name

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Item

_MOVED = ((1, 0, BINS),)


def tick_item_of(  # noqa: C901, PLR0911, PLR0912 - one case for each kind
    words: list[str],
) -> Item | None:
    """Return the item that the words stand for, None if it is not of a tick."""
    match words:
        case ["prepare", tick]:
            return PrepareTick(int(tick), _MOVED, snapshots=False)
        case ["prepare", tick, "with", "the", "front", "at", worker]:
            return PrepareTick(int(tick), _MOVED, snapshots=False, readers=(int(worker),))
        case ["announce", number, at, "of", "tick", tick]:
            return AnnounceSnapshot(int(number), position(at), int(tick))
        case ["switch", tick]:
            return Switch(int(tick), ())
        case ["switch", tick, "with", "a", "hold"]:
            return Switch(int(tick), ((FOLD, 77),))
        case ["last-part", tick]:
            return StatePart(int(tick), (), last=True)
        case ["complete", tick]:
            return TickCompleted(int(tick))
        case ["abandon", tick]:
            return AbandonTick(int(tick))
        case ["copied", tick]:
            return TickCopied(int(tick))
        case ["prepared", tick]:
            return TickPrepared(int(tick))
        case ["tick", tick, "declined:", *reason]:
            return TickDeclined(int(tick), " ".join(reason))
        case ["released", tick]:
            return BinsReleased(int(tick))
        case ["adopted", tick]:
            return BinsAdopted(int(tick))
        case ["front", "of", tick, "released", "at", "row", row, *ended]:
            return FrontReleased(int(tick), _point(row), ended=bool(ended))
        case ["adopt", "the", "front", "of", tick, "at", "row", row, *ended]:
            return AdoptFront(int(tick), _point(row), ended=bool(ended))
        case _:
            return None


def tick_item_text(  # noqa: C901, PLR0911 - one case for each kind
    item: Item,
) -> str:
    """Return an item of a tick as a transcript has it."""
    match item:
        case PrepareTick(tick):
            return f"prepare {tick}"
        case Switch(tick, holds):
            return f"switch {tick}" + (" with a hold" if holds else "")
        case StatePart(tick, state, last):
            rows = sum(len(rows) for _, rows in state)
            return f"{'last-part' if last else 'part'} {tick}: {rows} rows"
        case TickCompleted(tick):
            return f"complete {tick}"
        case AbandonTick(tick):
            return f"abandon {tick}"
        case TickCopied(tick):
            return f"copied {tick}"
        case TickPrepared(tick):
            return f"prepared {tick}"
        case TickDeclined(tick, reason):
            return f"tick {tick} declined: {reason}"
        case BinsReleased(tick):
            return f"released {tick}"
        case BinsAdopted(tick):
            return f"adopted {tick}"
        case FrontReleased(tick, point, ended):
            return f"front of {tick} released at row {point.row}" + (", ended" if ended else "")
        case AdoptFront(tick, point, ended):
            return f"adopt the front of {tick} at row {point.row}" + (", ended" if ended else "")
        case _:
            raise AssertionError(item)


def _point(row: str) -> ResumePoint:
    number = int(row.rstrip(","))
    return ResumePoint(0, number, number + 1, number, TIME_START)


def proposed(tick: str, readers: tuple[int, ...] = ()) -> TickProposed:
    """Return the proposal that all bins move to worker 1, and fronts to `readers`."""
    return TickProposed(int(tick), _MOVED, readers=readers)


def ended_text(ended: TickEnded) -> str:
    """Return the end of a tick as a transcript has it."""
    if ended.refused:
        return f"tick {ended.tick} is refused: {ended.refused}"
    at = position_name(ended.position)
    return ", ".join(
        (f"tick {ended.tick} is taken at {at}: {ended.moved_bins} bins", *ended.changes)
    )


def copied(epoch: int, tick: str, why_not: list[str]) -> BinsCopied | BinsNotCopied:
    """Return that the stored state of the bins was read, or why it was not."""
    if why_not:
        return BinsNotCopied(epoch, int(tick), " ".join(why_not))
    return BinsCopied(epoch, int(tick), ())
