"""The world that simulations run in: tape, time, processes, network, disk, tripwire.

Two little machines play ping-pong here, so that the world is judged without the nodes.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from fsql.runtime.cluster.frames import Heartbeat
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.runtime.simulation.coverage import Coverage
from fsql.runtime.simulation.disk import Disk
from fsql.runtime.simulation.network import Network, NetworkSettings
from fsql.runtime.simulation.process import Cut, Process, WatchedNode
from fsql.runtime.simulation.shrink import choices_left, shrink
from fsql.runtime.simulation.tape import Tape
from fsql.runtime.simulation.tripwire import ESCAPES, EscapedSimulationError, forbid_escapes
from fsql.runtime.simulation.world import SECOND, Clock, StandstillError, World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass
class Player:
    """Sends a number on when it gets one; serves again when nothing came for a second."""

    other: str
    serves_at: float | None
    seen: list[int] = field(default_factory=list)

    def step(self, event: object, now: float) -> list[Transmit]:
        if isinstance(event, Received):
            assert isinstance(event.what, Heartbeat)
            self.seen.append(event.what.epoch)
        elif self.serves_at is None or now < self.serves_at:
            return []
        if self.serves_at is not None:
            self.serves_at = now + 1.0
        return [Transmit(self.other, Heartbeat("game", len(self.seen), 0))]

    def next_timer(self) -> float | None:
        return self.serves_at


class Playing:
    """The program of a player."""

    def __init__(self, player: Player, process: Process, network: Network) -> None:
        self._process = process
        self._network = network
        self._node = WatchedNode(process, player, lambda _: None)
        self.next_timer = player.next_timer

    def step(self, event: object) -> None:
        for effect in self._node.step(event, self._process.now):
            self._network.transmit(self._process.name, effect.address, effect.what)

    def on_timer(self) -> None:
        self.step(TimerFired())

    def on_step(self) -> None:
        pass

    def on_end(self) -> None:
        self._network.leave(self._process.name)


@dataclass
class Game:
    world: World
    network: Network
    players: dict[str, list[Player]]
    processes: dict[str, Process]


def game(
    seed: int,
    settings: NetworkSettings | None = None,
    played: Mapping[str, Sequence[int]] | None = None,
) -> Game:
    world = World(Tape(seed, played))
    network = Network(world, settings or NetworkSettings(), Coverage())
    players: dict[str, list[Player]] = {"a": [], "b": []}

    def boot(process: Process) -> Playing:
        name = process.name
        network.listen(name, process.receive)
        players[name].append(Player("b" if name == "a" else "a", 0.0 if name == "a" else None))
        return Playing(players[name][-1], process, network)

    processes = {name: Process(name, world, Clock(), boot) for name in players}
    for process in processes.values():
        process.start()
    return Game(world, network, players, processes)


def played_for(seconds: int, seed: int, **options: Any) -> Game:
    played = game(seed, **options)
    played.world.run(seconds * SECOND)
    return played


def test_a_seed_is_a_run() -> None:
    rough = NetworkSettings(loss_rate=0.01, double_rate=0.01, overtake_rate=0.1, alter_rate=0.01)
    digests = [played_for(1, seed, settings=rough).world.trace.digest for seed in (7, 7, 8)]
    assert digests[0] == digests[1] != digests[2]


def test_a_tape_can_be_played_again() -> None:
    rough = NetworkSettings(loss_rate=0.01, overtake_rate=0.1)
    first = played_for(1, 7, settings=rough)
    again = played_for(1, 99, settings=rough, played=first.world.tape.choices())
    assert again.world.trace.digest == first.world.trace.digest


def test_a_tape_of_zeros_is_a_run_without_faults() -> None:
    rough = NetworkSettings(loss_rate=0.3, double_rate=0.3, overtake_rate=0.3)
    quiet = played_for(1, 7, settings=rough, played={})
    [player] = quiet.players["b"]
    assert player.seen == list(range(len(player.seen)))
    assert len(player.seen) > 4000


def test_what_is_killed_forgets_and_is_started_anew() -> None:
    played = game(1)
    process = played.processes["b"]
    process.cut = Cut("Transmit", before=True)
    played.world.run(SECOND // 2)
    assert not process.up
    process.start()
    played.world.run(2 * SECOND)
    first, second = played.players["b"]
    assert first.seen == [0]
    assert len(second.seen) > 100


def test_what_is_stopped_finds_what_came_meanwhile() -> None:
    played = game(1)
    played.world.run(SECOND // 10)
    before = len(played.players["b"][0].seen)
    played.processes["b"].stop()
    played.world.run(5 * SECOND)
    assert len(played.players["b"][0].seen) == before
    played.processes["b"].resume()
    # What was under way, and a serve for each second of silence.
    assert len(played.players["b"][0].seen) == before + 5


def test_what_hangs_goes_on_with_that_before_what_came_meanwhile() -> None:
    """A worker hung at a row handed on the end of its input before it."""
    played = game(1)
    process, did = played.processes["b"], list[str]()
    process.stop()
    process.later(0, process.hang, did.append, "what it hung at")
    process.later(0, did.append, "what came meanwhile")
    played.world.run(SECOND)
    process.resume()
    assert did == []
    process.resume()
    assert did == ["what it hung at", "what came meanwhile"]


def test_cuts_clogs_and_breaks() -> None:
    played = game(1)
    network, world, player = played.network, played.world, played.players["b"][0]
    network.cut("a", "b")
    world.run(2 * SECOND)
    seen = len(player.seen)
    network.cut("a", "b", by=-1)
    world.run(4 * SECOND)
    assert len(player.seen) > seen + 100
    network.clog("a", "b", 6 * SECOND)
    seen = len(player.seen)
    world.run(6 * SECOND - 1)
    assert len(player.seen) <= seen + 1
    world.run(7 * SECOND)
    assert len(player.seen) > seen + 100


def test_a_clock_drifts_and_never_goes_back() -> None:
    clock = Clock(began_us=5_000, drift_ppm=500)
    shown = [clock.seconds(time_us) for time_us in range(0, 10 * SECOND, 997)]
    assert shown == sorted(shown)
    assert clock.seconds(SECOND) - clock.seconds(0) == pytest.approx(1.0005)
    assert all(clock.time_us(clock.seconds(t)) <= t for t in range(0, SECOND, 9_973))


def test_time_that_does_not_pass_is_noticed() -> None:
    world = World(Tape(0))

    def again() -> None:
        world.after(0, again)

    again()
    with pytest.raises(StandstillError, match="time stands still"):
        world.run(SECOND)


def test_a_crash_keeps_what_was_synced() -> None:
    kept = set()
    for seed in range(60):
        disk = Disk(Tape(seed).stream("disk"))
        disk.write("safe", b"safe")
        disk.sync("safe")
        disk.sync_directory("")
        disk.write("unsafe", b"12345678")
        disk.crash()
        assert disk.read("safe") == b"safe"
        kept.add(disk.read("unsafe") if "unsafe" in disk.paths("") else None)
    assert {None, b"12345678"} < kept
    assert any(text and text.endswith(b"\0") for text in kept), "torn"
    assert any(text and len(text) < 8 for text in kept), "cut short"


def test_a_crash_loses_names_that_were_not_synced() -> None:
    kept = set()
    for seed in range(60):
        disk = Disk(Tape(seed).stream("disk"))
        disk.write("new.partial", b"new")
        disk.sync("new.partial")
        disk.write("old", b"old")
        disk.sync("old")
        disk.sync_directory("")
        disk.rename("new.partial", "new")
        disk.remove("old")
        disk.crash()
        kept.add(tuple(disk.paths("")))
    assert {("new",), ("new.partial", "old")} < kept
    assert all(set(names) <= {"new", "new.partial", "old"} for names in kept)


def test_a_full_disk_and_a_bit_that_flips() -> None:
    disk = Disk(Tape(3).stream("disk"))
    disk.write("a", b"abc")
    disk.full = True
    with pytest.raises(OSError, match="no space left"):
        disk.write("b", b"b")
    assert disk.paths("") == ["a"]
    assert disk.rot(["a", "b"])
    assert disk.read("a") != b"abc"


def test_the_tripwire() -> None:
    for place, name in ESCAPES:
        with pytest.raises(EscapedSimulationError, match=name), forbid_escapes():
            getattr(place, name)()
    assert time.monotonic() > 0


def test_other_threads_of_the_process_pass_the_tripwire() -> None:
    """A library may have a thread that sleeps: that of py4j does, once a second."""
    begin, slept = threading.Event(), list[float]()

    def sleep() -> None:
        begin.wait()
        time.sleep(0)
        slept.append(time.monotonic())

    other = threading.Thread(target=sleep)
    other.start()
    with forbid_escapes():
        begin.set()
        other.join()
    assert len(slept) == 1


def test_shrinking_leaves_what_a_failure_needs() -> None:
    choices = {"a": [1, 2, 3, 4, 5, 6, 7, 8], "b": [9] * 40, "c": [5]}

    def fails(tried: Mapping[str, Sequence[int]]) -> bool:
        return tried["a"][4] == 5 and tried["b"][13] == 9

    found = shrink(choices, fails, runs_max=200)
    assert choices_left(found) == 2
    assert fails(found)


def test_ticks_come_when_they_are_due() -> None:
    played = game(1)
    played.network.cut("a", "b")
    ticks: list[float] = []
    player = played.players["a"][0]
    right = player.step

    def step(event: object, now: float) -> list[Transmit]:
        if isinstance(event, TimerFired):
            ticks.append(now)
        return right(event, now)

    player.step = step  # type: ignore[method-assign]
    played.world.run(3 * SECOND + SECOND // 2)
    assert ticks == pytest.approx([1.0, 2.0, 3.0])
