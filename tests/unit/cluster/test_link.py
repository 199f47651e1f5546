"""Two links over a network that loses, doubles, delays, reorders and cuts, in simulated time.

What this can catch: anything lost, doubled or out of order; a link that never falls silent, or falls
silent too early; a window that is not kept.  What it cannot: what happens when a node ends.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import Batch, Root
from fsql.runtime.cluster.frames import CancelSnapshot, Frame, Start
from fsql.runtime.cluster.links.link import ITEM_BYTES, Link, LinkSettings, item_bytes
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.messages import Address, Message, Parcel

QUIET_AFTER_SECONDS = 600.0
"""Far more simulated time than any run below needs; a link that talks forever reaches it."""


@dataclass
class Network:
    """What is under way between two links, and how the network treats it."""

    seed: int
    loss: float = 0.0
    double: float = 0.0
    delay: tuple[float, float] = (0.0001, 0.001)
    cuts: tuple[tuple[float, float], ...] = ()
    fifo: bool = False
    transmitted: int = 0
    _flying: list[tuple[float, int, int, Frame]] = field(default_factory=list)
    _last: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def carry(self, to: int, frames: list[Frame], now: float) -> None:
        for frame in frames:
            self.transmitted += 1
            if any(begin <= now < end for begin, end in self.cuts):
                continue
            if self.random.random() < self.loss:
                continue
            for _ in range(1 + (self.random.random() < self.double)):
                at = now + self.random.uniform(*self.delay)
                if self.fifo:
                    at = self._last[to] = max(at, self._last[to])
                heapq.heappush(self._flying, (at, self.transmitted, to, frame))

    def next_at(self) -> float | None:
        return self._flying[0][0] if self._flying else None

    def arriving(self, now: float) -> list[tuple[int, Frame]]:
        arrived = []
        while self._flying and self._flying[0][0] <= now:
            _, _, to, frame = heapq.heappop(self._flying)
            arrived.append((to, frame))
        return arrived


class Pair:
    """Two links, a network between them, and what each was given and has received."""

    def __init__(self, network: Network, settings: LinkSettings) -> None:
        self.network, self.settings = network, settings
        self.links = [Link("job", 1, 7, i, 1 - i, settings) for i in (0, 1)]
        self.given: list[list[CancelSnapshot]] = [[], []]
        self.received: list[list[object]] = [[], []]
        self.now = 0.0

    def send(self, end: int, count: int) -> None:
        items = [CancelSnapshot(len(self.given[end]) + i) for i in range(count)]
        self.given[end] += items
        self.network.carry(1 - end, self.links[end].send(items, self.now), self.now)

    def step(self, until: float) -> bool:
        """Go on to the next thing that happens before `until`; say whether there was one."""
        times = [self.network.next_at(), *(link.next_due() for link in self.links)]
        at = min((time for time in times if time is not None), default=None)
        if at is None or at > until:
            self.now = until
            return False
        self.now = max(self.now, at)
        for to, frame in self.network.arriving(self.now):
            items, answer = self.links[to].receive(frame, self.now)
            self.received[to] += items
            self.network.carry(1 - to, answer, self.now)
        for end, link in enumerate(self.links):
            self.network.carry(1 - end, link.due(self.now), self.now)
        self.check()
        return True

    def check(self) -> None:
        for end, link in enumerate(self.links):
            got = self.received[end]
            assert got == self.given[1 - end][: len(got)]
            assert link.unacknowledged <= self.settings.window_frames
            assert link.early <= self.settings.window_frames

    def run(self, until: float) -> None:
        while self.step(until):
            pass


def settings_of(chance: random.Random) -> LinkSettings:
    return LinkSettings(
        window_frames=chance.choice((1, 2, 5, 32, 256)),
        window_bytes=chance.choice((1, 10 * ITEM_BYTES, 16 << 20)),
        acknowledge_frames=chance.choice((1, 3, 16)),
        acknowledge_after=chance.choice((0.0, 0.005)),
    )


def network_of(seed: int, chance: random.Random) -> Network:
    slow = chance.choice((0.0005, 0.02, 0.6))
    return Network(
        seed,
        loss=chance.choice((0.0, 0.0, 0.02, 0.3)),
        double=chance.choice((0.0, 0.1, 0.5)),
        delay=(slow / 10, slow),
        cuts=tuple(
            (begin, begin + chance.uniform(0.001, 2.0))
            for begin in (chance.uniform(0, 1) for _ in range(chance.choice((0, 0, 1, 3))))
        ),
        fifo=chance.random() < 0.4,
    )


@pytest.mark.parametrize("block", range(20))
def test_everything_arrives_once_and_in_order_and_then_all_is_silent(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        chance = random.Random(seed)
        pair = Pair(network_of(seed, chance), settings_of(chance))
        for _ in range(chance.randrange(1, 40)):
            for _ in range(chance.choice((1, 1, 5))):
                pair.send(chance.randrange(2), chance.choice((1, 1, 2, 9)))
            pair.run(pair.now + chance.choice((0.0, 0.001, 0.05)))
        pair.run(QUIET_AFTER_SECONDS)
        where = f"seed {seed}"
        assert pair.received == [pair.given[1], pair.given[0]], where
        for link in pair.links:
            state = (link.unacknowledged, link.waiting, link.early, link.next_due(), link.foreign)
            assert state == (0, 0, 0, None, 0), where
            assert link.stuck_for(pair.now) == 0.0, where


def test_a_network_without_faults_sees_no_frame_twice() -> None:
    pair = Pair(Network(1, fifo=True), LinkSettings())
    for _ in range(500):
        pair.send(0, 3)
        pair.run(pair.now + 0.0002)
    pair.run(QUIET_AFTER_SECONDS)
    acknowledgements = pair.network.transmitted - 500
    assert [(link.resent, link.duplicates) for link in pair.links] == [(0, 0), (0, 0)]
    assert [link.frames for link in pair.links] == [500, 0]
    assert pair.links[0].bytes_given == sum(item_bytes(item) for item in pair.given[0])
    assert pair.links[1].bytes_given == 0
    assert 500 // 16 <= acknowledgements <= 60


def test_acknowledgements_go_with_frames_of_the_other_direction() -> None:
    pair = Pair(Network(1, fifo=True), LinkSettings())
    for _ in range(500):
        pair.send(0, 1)
        pair.send(1, 1)
        pair.run(pair.now + 0.002)
    pair.run(QUIET_AFTER_SECONDS)
    assert pair.network.transmitted <= 1002


def test_a_burst_of_losses_is_mended_in_a_few_round_trips() -> None:
    pair = Pair(Network(1, fifo=True, delay=(0.001, 0.001), cuts=((0.0, 0.5),)), LinkSettings())
    for _ in range(200):
        pair.send(0, 1)
    pair.run(0.6)
    assert pair.received[1] == []
    pair.run(0.65)
    assert pair.received[1] == pair.given[0]
    pair.run(QUIET_AFTER_SECONDS)
    # The timer ran out at 0.2 without success and at 0.6.
    assert pair.links[0].resent == 201


def test_a_hole_is_mended_before_the_timer_runs_out() -> None:
    pair = Pair(Network(1, fifo=True, cuts=((0.0, 0.01),)), LinkSettings())
    pair.send(0, 1)
    pair.run(0.01)
    for _ in range(3):
        pair.send(0, 1)
    pair.run(0.05)
    assert pair.received[1] == pair.given[0]
    assert pair.links[0].resent == 1
    pair.network.cuts = ((0.05, 0.06),)
    pair.send(0, 1)
    pair.run(0.06)
    for _ in range(3):
        pair.send(0, 1)
    pair.run(0.1)
    assert pair.received[1] == pair.given[0]
    assert pair.links[0].resent == 2


def test_a_receiver_that_is_away_costs_one_frame_for_each_time_the_timer_runs_out() -> None:
    link = Link("job", 1, 7, 0, 1, LinkSettings())
    assert len([link.send([Start()], 0.0) for _ in range(100)]) == 100
    times = []
    while (at := link.next_due()) is not None and at < 10:
        assert link.due(at) == []
        [frame] = link.due(at)
        assert frame.sequence == 1
        times.append(round(at, 3))
    assert times == [0.2, 0.6, 1.4, 3.0, 5.0, 7.0, 9.0]
    assert link.stuck_for(10.0) == 10.0
    link.receive(Frame("job", 1, 7, 1, 0, 0, 99, ()), 10.0)
    assert (link.stuck_for(11.0), link.next_due()) == (1.0, 12.0)


def test_what_came_while_a_node_was_busy_is_taken_before_anything_is_sent_again() -> None:
    near, far = (Link("job", 1, 7, i, 1 - i, LinkSettings()) for i in (0, 1))
    [frame] = near.send([Start()], 0.0)
    far.receive(frame, 0.001)
    [acknowledgement] = far.due(0.006)
    # The node was at something else for a second; what came lies in its input.
    assert near.due(1.0) == []
    assert near.next_due() == 0.2
    near.receive(acknowledgement, 1.0)
    assert near.due(1.0) == []
    assert (near.resent, near.next_due()) == (0, None)
    # Nor does a look of long ago count for what is sent later.
    near.send([Start()], 2.0)
    assert near.due(4.0) == []


def test_a_peer_that_is_slow_is_waited_for_twice_as_long_as_it_took() -> None:
    link = Link("job", 1, 7, 0, 1, LinkSettings())

    def told(sequence: int, now: float) -> None:
        link.receive(Frame("job", 1, 7, 1, 0, 0, sequence, ()), now)

    link.send([Start()], 0.0)
    told(1, 0.125)
    link.send([Start()], 1.0)
    assert link.next_due() == 1.25
    told(2, 1.125)
    # What was sent again says little of how long an answer takes: it is waited on as before.
    link.send([Start()], 2.0)
    assert [len(link.due(at)) for at in (2.25, 2.25)] == [0, 1]
    told(3, 2.75)
    link.send([Start()], 3.0)
    assert link.next_due() == 3.5
    told(4, 3.5)
    link.send([Start()], 4.0)
    assert link.next_due() == 5.0
    # A peer that is fast again is believed gradually; one that never answers is not waited for forever.
    for sequence in range(5, 200):
        told(sequence, sequence - 0.999)
        link.send([Start()], float(sequence))
    assert link.next_due() == 199.2
    told(200, 250.0)
    link.send([Start()], 300.0)
    told(201, 399.0)
    link.send([Start()], 400.0)
    assert link.next_due() == 402.0


def test_what_the_window_does_not_hold_waits_in_order() -> None:
    settings = LinkSettings(window_frames=3, window_bytes=2 * ITEM_BYTES)
    near, far = (Link("job", 1, 7, i, 1 - i, settings) for i in (0, 1))
    big = [CancelSnapshot(i) for i in range(10)]
    sent = [
        near.send(items, 0.0)
        for items in ([Start()], [Start()], [Start()], big, [CancelSnapshot(11)])
    ]
    assert [[frame.sequence for frame in frames] for frames in sent] == [[1], [2], [], [], []]
    assert (near.unacknowledged, near.waiting) == (2, 3)
    for frame in [*sent[0], *sent[1]]:
        far.receive(frame, 0.0)
    [acknowledgement] = far.due(0.005)
    _, freed = near.receive(acknowledgement, 0.005)
    assert [frame.sequence for frame in freed] == [3]
    far.receive(freed[0], 0.01)
    [acknowledgement] = far.due(0.015)
    _, freed = near.receive(acknowledgement, 0.015)
    # A frame that is larger than the window goes alone, and leaves the window as it was.
    assert [(frame.sequence, len(frame.items)) for frame in freed] == [(4, 10)]
    far.receive(freed[0], 0.02)
    [acknowledgement] = far.due(0.025)
    _, freed = near.receive(acknowledgement, 0.025)
    assert [frame.sequence for frame in [*freed, *near.send([Start()], 0.03)]] == [5, 6]


@pytest.mark.parametrize(
    "frame",
    [
        Frame("other", 1, 7, 1, 0, 1, 0, (Start(),)),
        Frame("job", 2, 7, 1, 0, 1, 0, (Start(),)),
        Frame("job", 1, 6, 1, 0, 1, 0, (Start(),)),
        Frame("job", 1, 8, 1, 0, 1, 0, (Start(),)),
        Frame("job", 1, 7, 2, 0, 1, 0, (Start(),)),
        Frame("job", 1, 7, 1, 1, 1, 0, (Start(),)),
        Frame("job", 1, 7, 1, 0, -1, 0, (Start(),)),
    ],
    ids=["job", "tick", "old epoch", "new epoch", "sender", "receiver", "sequence"],
)
def test_frames_of_other_links_are_ignored_and_counted(frame: Frame) -> None:
    link = Link("job", 1, 7, 0, 1, LinkSettings())
    assert link.receive(frame, 0.0) == ([], [])
    assert (link.foreign, link.next_due()) == (1, None)


def test_an_acknowledgement_of_what_was_never_sent_is_a_bug() -> None:
    link = Link("job", 1, 7, 0, 1, LinkSettings())
    link.send([Start()], 0.0)
    with pytest.raises(InvariantError, match="node 1 acknowledges frame 2 of 1"):
        link.receive(Frame("job", 1, 7, 1, 0, 1, 2, (Start(),)), 0.0)


def test_frames_beyond_the_window_are_not_kept() -> None:
    link = Link("job", 1, 7, 0, 1, LinkSettings(window_frames=4))
    for sequence in range(2, 100):
        early = Frame("job", 1, 7, 1, 0, sequence, 0, (CancelSnapshot(sequence),))
        assert link.receive(early, 0.0)[0] == []
    assert link.early == 3
    items, _ = link.receive(Frame("job", 1, 7, 1, 0, 1, 0, (CancelSnapshot(1),)), 0.0)
    assert items == [CancelSnapshot(i) for i in range(1, 5)]


def test_a_slice_counts_for_what_it_holds() -> None:
    large = pa.array([f"{i:100}" for i in range(10_000)])
    numbers = np.arange(10, dtype=np.int64)
    batch = Batch([large.slice(0, 10)], numbers, numbers, ())
    size = item_bytes(Message(Parcel(Address(0), batch), 1, Root(0, 0)))
    assert 10 * (100 + 24) <= size <= 2 * 10 * (100 + 24)


def test_large_frames_on_a_slow_path_are_not_sent_again() -> None:
    """Rows of 15 MB that take a second each: sent again, they would take the path from those behind."""
    near, far = (Link("job", 1, 7, i, 1 - i, LinkSettings()) for i in (0, 1))
    roots = np.zeros(1, np.int64)
    column = pa.array(["x" * 15_000_000])
    parcel = Parcel(Address(0), Batch([column], roots, roots, ()))
    items = [Message(parcel, number, Root(0, 0)) for number in range(6)]
    flying: list[tuple[float, int, Frame]] = []
    free_at, received = 0.0, 0
    for item in items:
        flying += [(0.0, 1, frame) for frame in near.send([item], 0.0)]
    for tick in range(2_000):
        now = tick / 100
        flying += [(now, 1, frame) for frame in near.due(now)]
        flying += [(now, 0, frame) for frame in far.due(now)]
        for at, to, frame in list(flying):
            if to == 0:
                flying.remove((at, to, frame))
                flying += [(now, 1, more) for more in near.receive(frame, now)[1]]
            elif now >= max(at, free_at) + 1.0:
                flying.remove((at, to, frame))
                free_at = now
                came, frames = far.receive(frame, now)
                received += len(came)
                flying += [(now, 0, more) for more in frames]
            elif to == 1:
                break
    assert received == 6
    assert near.resent == 0
    assert far.duplicates == 0
    assert near.due_at == math.inf
