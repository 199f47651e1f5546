"""Frames and datagrams of every kind, with columns of every type, and what equals what."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fsql.compiler.plan_choices import FilterOrder, PlanChoices
from fsql.compiler.tick_plan import Policy
from fsql.runtime.batch import END, START, Batch, Root
from fsql.runtime.cluster import frames
from fsql.runtime.cluster.frames import Begin, Frame, Goodbye, Heartbeat, Hello
from fsql.runtime.cluster.snapshots.manifest import StateSegment
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
from fsql.runtime.dataflow.metrics import Metrics, OperatorMetrics, SinkMetrics, SourceMetrics
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    NEVER,
    IncrementalSnapshot,
    incremental_snapshot,
)
from fsql.runtime.ports import DeadLetter

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Datagram, Item

TYPES = (
    pa.bool_(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.string(),
    pa.timestamp("us", tz="UTC"),
    pa.duration("us"),
    pa.null(),
    pa.large_binary(),
    pa.list_(pa.int64()),
    pa.list_(pa.string()),
    pa.list_(pa.bool_()),
    pa.list_(pa.list_(pa.string())),
    pa.list_(pa.null()),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int32(), pa.list_(pa.int64())),
    pa.list_(pa.dictionary(pa.int32(), pa.string())),
)
ROOT = Root(5, 2**57)
CHOICES = PlanChoices(
    (("aggregate-1", Policy.ORDERED), ("join-2", Policy.SPECULATIVE)),
    (FilterOrder(0, 1, ((2,), (0, 1))),),
    (("windowaggregate-3", 256),),
)
SNAPSHOT = incremental_snapshot(
    [pa.array(["a", None])],
    pa.RecordBatch.from_pydict({"0_count": pa.array([1, 2]), "expires": pa.array([NEVER, 7])}),
    appends=False,
)

CONTROL: tuple[Item, ...] = (
    Promise(3, END),
    MinTime(1, START),
    frames.Ready(),
    frames.Start(),
    frames.Blocked(2, ROOT),
    frames.Credit(2, ROOT),
    frames.AnnounceSnapshot(4, ROOT),
    frames.SnapshotAnswer(4, accepted=False, reached=ROOT),
    frames.CancelSnapshot(4),
    frames.SnapshotAcknowledged(
        4,
        (
            StateSegment(0, "a/1", "fold 3", 4, 1, 10, 2**40, "00ff", ((0, 7), (9, 4096))),
            StateSegment(1, "", "", 0, 0, 0, 0, "", ()),
        ),
        (ResumePoint(0, 1, 2, 3, -(2**63)), ResumePoint(1, 0, 0, 0, 0, "ff")),
    ),
    frames.SnapshotAcknowledged(5, (), ()),
    frames.SnapshotDeclined(4, "no space left: ☃"),
    frames.SnapshotCommitted(4, ROOT, ("a/1", "b/2")),
    Metrics(
        1,
        2,
        seconds_behind=0.5,
        operators={"Filter": OperatorMetrics(0.25, 3)},
        sources={"t": SourceMetrics(4, 5, 6, 7)},
        sinks={"s": SinkMetrics(8)},
        rows_late_by_window={9: 10},
    ),
    frames.Failure(b'{"code": "E531"}'),
    frames.AnnounceSnapshot(4, ROOT, tick=3),
    frames.PrepareTick(3, ((1, 0, 7), (0, 7, 4096)), snapshots=False, choices=CHOICES),
    frames.PrepareTick(3, ((0, 0, 4096),), readers=(1, 0)),
    frames.PrepareTick(3, ((0, 0, 4096),), exchanges=(("join-é", ((1, 0, 7), (0, 7, 4096))),)),
    frames.TickCopied(3),
    frames.TickPrepared(3),
    frames.TickDeclined(3, "the store cannot be read: ☃"),
    frames.StatePart(3, (("aggregate-1", SNAPSHOT), ("join-2", SNAPSHOT)), last=True),
    frames.Switch(3, ((1, 2**64 - 1), (2, 5))),
    frames.BinsReleased(3),
    frames.BinsAdopted(3),
    frames.FrontReleased(3, ResumePoint(1, 2, 3, 4, -5, "é"), ended=True),
    frames.AdoptFront(3, ResumePoint(0, 0, 1, 0, 0), ended=False),
    frames.TickCompleted(3),
    frames.AbandonTick(3),
    frames.MemberJoined(3, "tcp://127.0.0.1:1"),
    frames.MemberLeft(3),
    frames.ReleaseShards(ROOT),
    frames.ShardsReleased(ROOT, ((0, 5), (2, 2**40))),
    frames.ShardsReleased(START, ()),
    frames.SyncShards(5),
    frames.ShardsSynced(5, "no space left: ☃"),
    Acknowledgement((AckEntry(1, Kind.MESSAGE, ROOT, 2**64 - 1), AckEntry(2, Kind.HOLD, START, 0))),
    Acknowledgement(()),
)
DATAGRAMS: tuple[Datagram, ...] = (
    Hello("job", "worker 1", "tcp://127.0.0.1:5555"),
    Begin("job", 1, 7, "w", 0, "tcp://127.0.0.1:1", ("a", "b"), b"plan", b"manifest", 5.0),
    Begin("job", 1, 7, "w", 0, "", (), b"", b"\x00" * 100_000, 0.5, choices=CHOICES, writers=3),
    Begin("job", 1, 7, "w", 0, "", (), b"", b"", 0.5, readers=(1, 0)),
    Begin("job", 1, 7, "w", 0, "", (), b"", b"", 0.5, exchanges=(("join", ((0, 0, 4096),)),)),
    Heartbeat("job", 7, -1),
    Goodbye("job", 7, -1, finished=True),
    Goodbye("job", 7, 3, finished=False, reason="the store of worker 3 is locked"),
    Goodbye("job", 7, 3, finished=False, reason="a bug", broken_invariant=True),
)


def column(kind: pa.DataType, count: int, chance: random.Random, nulls: float = 0.2) -> pa.Array:
    """Return a column of some values, some of them NULL."""
    if pa.types.is_dictionary(kind):
        words = column(kind.value_type, chance.choice((3, 2 * count + 3)), chance, nulls=0)
        picks = [chance.randrange(len(words)) if chance.random() >= nulls else None] * count
        return pa.DictionaryArray.from_arrays(pa.array(picks, pa.int32()), words)
    if pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
        ends = sorted(chance.randrange(2 * count + 1) for _ in range(count + 1))
        return pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()), column(kind.value_type, 2 * count, chance, nulls)
        )
    return pa.array([_value(kind, chance, nulls) for _ in range(count)], kind)


def _value(kind: pa.DataType, chance: random.Random, nulls: float) -> object:
    if chance.random() < nulls or pa.types.is_null(kind):
        return None
    if pa.types.is_list(kind):
        return [_value(kind.value_type, chance, nulls) for _ in range(chance.randrange(4))]
    if pa.types.is_string(kind) or pa.types.is_large_binary(kind):
        text = "".join(chance.choice("aß水𝄞") for _ in range(chance.randrange(9)))
        return text if pa.types.is_string(kind) else text.encode()
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_floating(kind):
        return chance.choice((0.0, -0.0, 1e300, float("inf"), chance.random()))
    return chance.randrange(-(2**31), 2**31)


def batch(count: int, chance: random.Random, *, sliced: bool = False) -> Batch:
    """Return a batch with a column of each type; its columns may be cut out of longer ones."""
    before, behind = (chance.randrange(12), chance.randrange(12)) if sliced else (0, 0)
    nulls = chance.choice((0.0, 0.2, 1.0))
    columns = [
        column(kind, before + count + behind, chance, nulls).slice(before, count) for kind in TYPES
    ]

    def integers() -> np.ndarray:
        return np.array([chance.randrange(-(2**63), 2**63) for _ in range(count)], np.int64)

    path = tuple(integers() for _ in range(chance.randrange(4)))
    weight = integers() if chance.random() < 0.5 else None
    return Batch(columns, integers(), integers(), path, weight)


def message(
    rows: Batch | None, *dead_letters: tuple[Root, DeadLetter], repairs: bool = False
) -> Message:
    """Return a message with rows and malformed rows."""
    to = Address(3, 1) if not dead_letters else Address(9, 0, PortKind.DEAD_LETTER, stops_job=True)
    return Message(Parcel(to, rows, repairs, dead_letters), 2**64 - 5, ROOT)


def frame(*items: Item) -> Frame:
    """Return a frame with items."""
    return Frame("job", 1, 7, 0, -1, 55, 44, items)


def some_frame(seed: int) -> Frame:
    """Return a frame with items of many kinds."""
    chance = random.Random(seed)
    dead_letter = (ROOT, DeadLetter(1, 2, 3, 511, "a.b", "is no number", "\\xff"))
    messages = [
        message(batch(chance.choice((0, 1, 8, 40)), chance, sliced=chance.random() < 0.6))
        for _ in range(chance.randrange(3))
    ]
    return frame(*messages, message(None, dead_letter, repairs=True), *chance.sample(CONTROL, 4))


def same(left: Any, right: Any) -> bool:  # noqa: PLR0911 - one for each kind
    """Say whether two things are the same in type and value; batches are compared by their content."""
    if isinstance(left, pa.Array) and isinstance(right, pa.Array):
        # Equal values may be other words of other dictionaries, and a few strings come without theirs.
        equal = left.equals(right) or left.to_pylist() == right.to_pylist()
        return equal and _values_type(left) == _values_type(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and bool((left == right).all())
    if isinstance(left, IncrementalSnapshot):
        return (left.keys, left.appends) == (right.keys, right.appends) and left.rows == right.rows
    if is_dataclass(left):
        names = [field.name for field in fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    return bool(left == right)


def _values_type(array: pa.Array) -> pa.DataType:
    return array.type.value_type if pa.types.is_dictionary(array.type) else array.type
