"""The machines `coordinator` and `worker` of the command `protocol`: whole nodes, driven by `step`.

Items on links have a word each, the same in events and in effects; see `item_of` and `item_text`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.assignment import FrontTask
from fsql.compiler.diagnostics.encoding import error_of
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    Deliver,
    Delivered,
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    OpenSinks,
    Progress,
    SinkLost,
    SinkOpened,
    TakeEpoch,
    WorkerExited,
)
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    Begin,
    Frame,
    Goodbye,
    Heartbeat,
    Hello,
)
from fsql.runtime.cluster.job_spec import JobSpec, Output, Settings
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.runtime.cluster.ticks.events import CopyBins, ProposeTick, TickEnded
from fsql.runtime.cluster.worker.events import (
    ChunkRead,
    Close,
    CloseReader,
    LeaderFound,
    Leave,
    Load,
    Loaded,
    NotLoaded,
    NotStored,
    OpenReader,
    Resumed,
    Store,
    Stored,
    Trim,
    Yield,
)
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.ports import Chunk, SourceOffset
from fsql.tests.protocol_commands import (
    AckTable,
    BarrierOfPlan,
    LinkPair,
    contents_text,
    plan_of,
    position,
    position_name,
    transcript,
)
from fsql.tests.protocol_items import item_of, item_text
from fsql.tests.protocol_ticks import (
    copied,
    ended_text,
    proposed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect, CoordinatorEvent
    from fsql.runtime.cluster.frames import Datagram
    from fsql.runtime.cluster.worker.events import WorkerEffect, WorkerEvent
    from fsql.tests.protocol_commands import Machine


def _sent_text(what: Frame | Datagram) -> str:
    match what:
        case Frame():
            items = ", ".join(map(item_text, what.items)) or "nothing"
            return f"frame {what.sequence} of epoch {what.epoch}: {items}"
        case Begin():
            return f"begin epoch {what.epoch} as worker {what.number}"
        case Heartbeat():
            return f"heartbeat of epoch {what.epoch}"
        case Hello():
            return f"hello from {what.worker}"
        case Goodbye():
            why = "the job is finished" if what.finished else what.reason
            if what.disk_failed:
                why = f"the disk failed: {why}"
            return f"goodbye of epoch {what.epoch}" + (f": {why}" if why else "")


class Coordinator:
    """A coordinator of a job with one front and one output.

    Frames from a worker acknowledge everything that was sent to it.
    """

    def __init__(self, workers: str = "1", snapshots: str = "no", outputs: str = "yes") -> None:
        plan = plan_of(int(workers))
        every = 1.0 if snapshots == "yes" else None
        output = Output(DeliveryOption.EXACTLY_ONCE, insert=0, name='table "out"')
        listed = (output,) if outputs == "yes" else ()
        spec = JobSpec("job", 0, plan, (FrontTask(0, 0, 0),), listed, b"", logged=True)
        self._node = CoordinatorNode(spec, "coordinator", Settings(snapshot_every=every))
        self._epoch = 0
        self._sequences: dict[tuple[int, int], int] = {}
        self._sent: dict[tuple[int, int], int] = {}
        self._phase = ""

    def on_event(self, words: list[str], now: float) -> list[str]:
        """Step the node."""
        effects = self._node.step(self._event(words), now)
        return [line for effect in effects for line in self._effect_text(effect)]

    def _event(self, words: list[str]) -> CoordinatorEvent:  # noqa: C901, PLR0911, PLR0912 - see `item_of`
        match words:
            case ["time", "passes"]:
                return TimerFired()
            case ["lease", "until", until]:
                return LeaseHeld(float(until))
            case ["lease", "lost"]:
                return LeaseLost()
            case ["hello", "from", name]:
                return Received(Hello("job", name, f"at-{name}"), f"at-{name}")
            case [name, "has", "ended"]:
                return WorkerExited(f"at-{name}")
            case ["epoch", number]:
                self._epoch = int(number)
                return EpochTaken(self._epoch, None)
            case ["sink", "opens", "at", at]:
                return SinkOpened(self._epoch, 0, position(at), 4)
            case ["sink", "stores", "below", at]:
                return Delivered(self._epoch, 0, position(at))
            case ["sink", "fails:", *reason]:
                return SinkLost(0, " ".join(reason))
            case ["manifest", number, "is", "committed"]:
                return ManifestCommitted(self._epoch, int(number), {})
            case ["tick", tick, "is", "proposed"]:
                return proposed(tick)
            case ["tick", tick, "is", "proposed", "with", "the", "front", "at", reader]:
                return proposed(tick, (int(reader),))
            case ["worker", number, "leaves:", *reason]:
                why = " ".join(reason)
                goodbye = Goodbye(
                    "job",
                    self._epoch,
                    int(number),
                    finished=False,
                    reason=why,
                    broken_invariant=why == "broken invariant",
                )
                return Received(goodbye, "somewhere")
            case ["worker", number, "lives"]:
                return Received(Heartbeat("job", self._epoch, int(number)), "somewhere")
            case ["worker", number, "says", *item]:
                return self._frame(int(number), self._epoch, item)
            case ["worker", number, "of", "epoch", epoch, "says", *item]:
                return self._frame(int(number), int(epoch), item)
            case _:
                raise AssertionError(words)

    def _frame(self, worker: int, epoch: int, words: list[str]) -> Received:
        sequence = self._sequences[worker, epoch] = self._sequences.get((worker, epoch), 0) + 1
        has = self._sent.get((worker, epoch), 0)
        frame = Frame("job", 0, epoch, worker, COORDINATOR, sequence, has, item_of(words))
        return Received(frame, "somewhere")

    def _effect_text(self, effect: CoordinatorEffect) -> list[str]:  # noqa: C901, PLR0911
        match effect:
            case Transmit(address, what):
                if isinstance(what, Frame):
                    self._sent[what.receiver, what.epoch] = what.sequence
                return [f"to {address.removeprefix('at-')}: {_sent_text(what)}"]
            case TakeEpoch():
                return ["take an epoch"]
            case OpenSinks(epoch, begins):
                return [f"open sinks for epoch {epoch}, from {position_name(begins)}"]
            case Deliver(epoch, _, bundle):
                rows_text = "no rows" if bundle.contents is None else contents_text(bundle.contents)
                return [f"deliver in epoch {epoch} below {position_name(bundle.ends)}: {rows_text}"]
            case TickEnded():
                return [ended_text(effect)]
            case CommitManifest(manifest):
                return [f"commit snapshot {manifest.snapshot} at {manifest.position[0]}"]
            case Progress():
                before, self._phase = self._phase, effect.phase
                if effect.detail:
                    self._phase += f" ({effect.detail})"
                return [] if before == self._phase else [f"progress: {self._phase}"]
            case Finish(refused=(_, reason)):
                return [f"finish: {reason}"]
            case ProposeTick():
                raise AssertionError(effect)  # not with these settings
            case Finish(stopped, diagnostics):
                if diagnostics is not None:
                    [error] = error_of(diagnostics).diagnostics
                    return [f"finish with {error.code}: {error.message}"]
                return ["finish" if stopped is None else f"finish: {contents_text(stopped)}"]


class WorkerOfJob:
    """A worker of a job with one front; the front is that of worker 0."""

    def __init__(self, workers: str = "1", number: str = "0") -> None:
        self._node = WorkerNode("job", "w", "at-w", Settings())
        self._workers, self._number = int(workers), int(number)
        self._sequences: dict[tuple[int, int], int] = {}

    def on_event(self, words: list[str], now: float) -> list[str]:
        """Step the node."""
        return [self._effect_text(effect) for effect in self._node.step(self._event(words), now)]

    def _number_of(self, as_worker: list[str]) -> int:
        """Return the number in the words `as worker 2`, or that of the node if there are none."""
        return int(as_worker[-1]) if as_worker else self._number

    def _event(self, words: list[str]) -> WorkerEvent:  # noqa: C901, PLR0911, PLR0912 - see `item_of`
        match words:
            case ["time", "passes"]:
                return TimerFired()
            case ["leader", "found"]:
                return LeaderFound("coordinator")
            case ["front", "reads", "row", at]:
                row = int(at)
                chunk = Chunk([pa.array([value]) for value in ("a", row)], np.array([row]), (), 9)
                return ChunkRead(0, chunk, SourceOffset(row, row + 1, row))
            case ["front", "ends"]:
                return ChunkRead(0, None, SourceOffset(99, 100, 99))
            case ["work", "goes", "on"]:
                return Resumed()
            case ["begin", "epoch", epoch, *as_worker]:
                peers = tuple(f"at-{worker}" for worker in range(self._workers))
                number = self._number_of(as_worker)
                begin = Begin(
                    "job", 0, int(epoch), "w", number, "coordinator", peers, b"", b"", 5.0
                )
                return Received(begin, "coordinator")
            case ["epoch", epoch, "is", "loaded", *as_worker]:
                tasks = (FrontTask(0, 0, 0),)
                number = self._number_of(as_worker)
                fronts = tasks if number == 0 else ()
                plan = plan_of(self._workers)
                return Loaded(int(epoch), number, plan, fronts, {}, Settings(), tasks=tasks)
            case ["bins", "of", "tick", tick, "in", "epoch", epoch, "are", "copied"]:
                return copied(int(epoch), tick, [])
            case ["bins", "of", "tick", tick, "in", "epoch", epoch, "are", "not", "copied:", *why]:
                return copied(int(epoch), tick, why)
            case ["worker", peer, "of", "epoch", epoch, "says", *item]:
                return self._frame(int(peer), int(epoch), item)
            case ["epoch", epoch, "is", "not", "loaded:", *reason]:
                return NotLoaded(int(epoch), " ".join(reason))
            case ["epoch", epoch, "is", "not", "loaded,", "the", "disk", "failed:", *reason]:
                return NotLoaded(int(epoch), " ".join(reason), disk_failed=True)
            case ["snapshot", number, "of", "epoch", epoch, "is", "stored"]:
                return Stored(int(epoch), int(number), ())
            case ["snapshot", number, "of", "epoch", epoch, "is", "not", "stored:", *reason]:
                return NotStored(int(epoch), int(number), " ".join(reason))
            case ["coordinator", "of", "epoch", epoch, "lives"]:
                return Received(Heartbeat("job", int(epoch), COORDINATOR), "coordinator")
            case ["coordinator", "of", "epoch", epoch, "says", "goodbye"]:
                return Received(Goodbye("job", int(epoch), COORDINATOR, finished=False), "c")
            case ["the", "job", "is", "finished"]:
                return Received(Goodbye("job", 0, COORDINATOR, finished=True), "coordinator")
            case ["coordinator", "of", "epoch", epoch, "says", *item]:
                return self._frame(COORDINATOR, int(epoch), item)
            case _:
                raise AssertionError(words)

    def _frame(self, sender: int, epoch: int, words: list[str]) -> Received:
        sequence = self._sequences[sender, epoch] = self._sequences.get((sender, epoch), 0) + 1
        frame = Frame("job", 0, epoch, sender, self._number, sequence, 0, item_of(words))
        return Received(frame, "somewhere")

    def _effect_text(  # noqa: C901, PLR0911 - see `item_of`
        self, effect: WorkerEffect
    ) -> str:
        match effect:
            case Transmit(address, what):
                return f"to {address}: {_sent_text(what)}"
            case Load(begin):
                return f"load epoch {begin.epoch}"
            case Store(epoch, snapshot, at):
                return f"store snapshot {snapshot} of epoch {epoch} at {position_name(at)}"
            case CopyBins(_, tick):
                return f"copy bins of tick {tick}"
            case Yield():
                return "yield"
            case Trim(snapshot):
                return f"trim below snapshot {snapshot}"
            case OpenReader(_, front, source_offset):
                return f"open a reader of front {front} at row {source_offset.row}"
            case CloseReader(front):
                return f"close the reader of front {front}"
            case Close():
                return "close"
            case Leave():
                return "leave"
            case _:
                raise AssertionError(effect)


MACHINES: Final[dict[str, Callable[..., Machine]]] = {
    "link": LinkPair,
    "acker": AckTable,
    "barrier": BarrierOfPlan,
    "coordinator": Coordinator,
    "worker": WorkerOfJob,
}


def protocol(text: str, *, of: str, **settings: str) -> str:
    """Return the transcript of a machine."""
    return transcript(text, MACHINES[of](**settings))
