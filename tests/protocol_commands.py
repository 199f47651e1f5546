"""The command `protocol` of case files: transcripts of machines, events in and effects out.

Each line of the input is a time in seconds and an event.  The output repeats it, with the effects of the
event below, indented.  `of=` names the machine: `link`, `acker` or `barrier`, which are here, or
`coordinator` or `worker`.  Positions are times of rows, `start` or `end`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from fsql.compiler import logical
from fsql.compiler.lowering import lower
from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, START, Batch, Root
from fsql.runtime.cluster.frames import CancelSnapshot, Frame
from fsql.runtime.cluster.links.link import Link, LinkSettings
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.barrier import Barrier, DeadLetters, LateRows, Released, Stopped
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Address,
    Kind,
    Parcel,
    PortKind,
    Promise,
)
from fsql.runtime.ports import DeadLetter
from fsql.tests.unit.dataflow.plans import KEY, call, grouped, insert, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.tick_plan import TickPlan


class Machine(Protocol):
    """A machine under test."""

    def on_event(self, words: list[str], now: float) -> list[str]:
        """Deal with an event; return the effects."""


def transcript(text: str, machine: Machine) -> str:
    """Return the events of a text, each with its effects."""
    lines = []
    for line in text.splitlines():
        at, *words = line.split()
        lines.append(line)
        try:
            effects = machine.on_event(words, float(at))
        except InvariantError as error:
            effects = [f"broken invariant: {error}"]
        lines += [f"    {effect}" for effect in effects]
    return "".join(f"{line}\n" for line in lines)


def position(text: str) -> Root:
    """Return a position as a transcript has it."""
    return {"start": START, "end": END}.get(text) or Root(int(text), 0)


def position_name(root: Root) -> str:
    """Return how a transcript has a position."""
    return {START: "start", END: "end"}.get(root) or str(root.time)


def plan_of(workers: int) -> TickPlan:
    """Return the plan of all machines: stage 0 reads, stage 1 counts by key; the barrier is stage 2."""
    query = insert(grouped(logical.Scan(table(0), 0), [KEY], call("COUNT")))
    return choose(lower(logical.Job((query,))), workers=workers)


PLAN: Final = plan_of(1)
FOLD: Final = 1
BARRIER: Final = 2


def rows(times: Sequence[int]) -> Batch:
    """Return rows as they come to the sink."""
    columns = [pa.array(["a"] * len(times)), pa.array(times, pa.int64())]
    return Batch(columns, np.array(times, np.int64), np.zeros(len(times), np.int64), ())


def dead_letter(time: int) -> tuple[Root, DeadLetter]:
    """Return a malformed row."""
    return Root(time, 0), DeadLetter(time, time + 1, 0, 511, "a", "not a number", "x")


class LinkPair:
    """Two links, `a` and `b`, and the frames that they have transmitted, by number."""

    def __init__(self) -> None:
        settings = LinkSettings(window_bytes=1 << 20, acknowledge_after=0.1, resend_after=0.4)
        self._links = {
            "a": Link("job", 0, 1, 0, 1, settings),
            "b": Link("job", 0, 1, 1, 0, settings),
        }
        self._frames: list[Frame] = []

    def on_event(self, words: list[str], now: float) -> list[str]:
        """Send items, deliver a frame, lose one, or let time pass."""
        match words:
            case [sender, "sends", *items]:
                link = self._links[sender]
                return self._transmitted(link.send([CancelSnapshot(int(i)) for i in items], now))
            case ["deliver", number]:
                frame = self._frames[int(number.removeprefix("#")) - 1]
                receiver = "ab"[frame.receiver]
                taken, frames = self._links[receiver].receive(frame, now)
                numbers = [str(item.snapshot) for item in taken if isinstance(item, CancelSnapshot)]
                found = [f"{receiver} takes {' '.join(numbers)}"] if numbers else []
                return found + self._transmitted(frames)
            case ["lose", _]:
                return []
            case ["time", "passes"]:
                return [
                    line
                    for link in self._links.values()
                    if link.due_at <= now
                    for line in self._transmitted(link.due(now))
                ]
            case _:
                raise AssertionError(words)

    def _transmitted(self, frames: Sequence[Frame]) -> list[str]:
        lines = []
        for frame in frames:
            self._frames.append(frame)
            items = " ".join(
                str(item.snapshot) for item in frame.items if isinstance(item, CancelSnapshot)
            )
            what = f"frame {frame.sequence}: {items}" if items else "nothing"
            way = f"{'ab'[frame.sender]} to {'ab'[frame.receiver]}"
            lines.append(f"#{len(self._frames)} {way}: {what}; acknowledges {frame.acknowledged}")
        return lines


class AckTable:
    """The acker of the plan with one front."""

    def __init__(self) -> None:
        self._acker = Acker([frozenset(), frozenset(), frozenset([1])], [frozenset([0])] * 3)

    def on_event(self, words: list[str], now: float) -> list[str]:  # noqa: ARG002
        """Take a promise or an acknowledgement; tell which min times advance."""
        match words:
            case ["promise", at]:
                self._acker.promise(Promise(0, position(at)))
            case ["acknowledge", *entries]:
                self._acker.acknowledge(Acknowledgement(tuple(map(_entry, entries))))
            case _:
                raise AssertionError(words)
        return [
            f"min time of stage {advanced.stage}: {position_name(advanced.root)}"
            for advanced in self._acker.take_advanced()
        ]


def _entry(text: str) -> AckEntry:
    """Return an entry: `message:STAGE:POSITION:ID` or `hold:…`."""
    kind, stage, at, number = text.split(":")
    return AckEntry(int(stage), Kind[kind.upper()], position(at), int(number))


class BarrierOfPlan:
    """The barrier of the plan."""

    def __init__(self) -> None:
        self._barrier = Barrier(PLAN.sinks, 0)

    def on_event(self, words: list[str], now: float) -> list[str]:  # noqa: ARG002
        """Take rows, or learn min time and release."""
        match words:
            case ["rows", *times]:
                to = Address(BARRIER, 0, PortKind.SINK)
                self._barrier.accept(Parcel(to, rows(list(map(int, times)))))
            case ["dead-letter", at]:
                self._dead_letter(at, stops=False)
            case ["stop-at", at]:
                self._dead_letter(at, stops=True)
            case ["min-time", at]:
                return [contents_text(each) for each in self._barrier.advance(position(at))]
            case _:
                raise AssertionError(words)
        return []

    def _dead_letter(self, at: str, *, stops: bool) -> None:
        to = Address(BARRIER, 0, PortKind.DEAD_LETTER, stops)
        self._barrier.accept(Parcel(to, None, dead_letters=(dead_letter(int(at)),)))


def contents_text(contents: Released | LateRows | DeadLetters | Stopped) -> str:
    """Return what the barrier has released, as a transcript has it."""
    match contents:
        case Released(_, release):
            return f"rows {' '.join(map(str, release.time.tolist()))}"
        case Stopped(root, code, _):
            return f"stop at {position_name(root)}, error {code}"
        case LateRows(_, late):
            return f"late rows {' '.join(map(str, late.time.tolist()))}"
        case DeadLetters(dead_letters):
            return f"dead letters {' '.join(position_name(root) for root, _ in dead_letters)}"
