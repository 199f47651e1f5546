"""The items and events of ticks in transcripts of `coordinator` and `worker`.

`move 1` is a tick that gives all bins to worker 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import BINS
from fsql.runtime.cluster.frames import (
    AbandonTick,
    AnnounceSnapshot,
    BinsAdopted,
    BinsReleased,
    PrepareTick,
    StatePart,
    Switch,
    TickCompleted,
    TickCopied,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.tick_events import BinsCopied, BinsNotCopied, TickEnded, TickProposed
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
        case _:
            return None


def tick_item_text(item: Item) -> str:  # noqa: C901, PLR0911 - one case for each kind
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
        case _:
            raise AssertionError(item)


def proposed(tick: str) -> TickProposed:
    """Return the proposal that all bins move to worker 1."""
    return TickProposed(int(tick), _MOVED)


def ended_text(ended: TickEnded) -> str:
    """Return the end of a tick as a transcript has it."""
    if ended.refused:
        return f"tick {ended.tick} is refused: {ended.refused}"
    at = position_name(ended.position)
    return f"tick {ended.tick} is taken at {at}: {ended.moved_bins} bins"


def copied(epoch: int, tick: str, why_not: list[str]) -> BinsCopied | BinsNotCopied:
    """Return that the stored state of the bins was read, or why it was not."""
    if why_not:
        return BinsNotCopied(epoch, int(tick), " ".join(why_not))
    return BinsCopied(epoch, int(tick), ())
