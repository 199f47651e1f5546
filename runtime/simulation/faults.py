"""Faults: what goes wrong in a run, when, and where it is aimed.

While there is chaos, a fault strikes now and then; most end by themselves after a while, and when the
chaos is over all do: every process runs, the network is whole, disks and consumers behave.  From then on
the job has to come to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import Hello
from fsql.runtime.simulation.codec import STRANGERS
from fsql.runtime.simulation.coverage import CUTS
from fsql.runtime.simulation.faults_outside import FAULTS_OUTSIDE
from fsql.runtime.simulation.process import Cut, PortCut
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.sinks import ExternalSink


CALLS: Final = 12
"""Within how many calls of ports from now on a kill is aimed."""


class Chaos:
    """Strikes with the faults of a run."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.choices = cluster.world.tape.stream("faults")
        self.over = False
        self._faults = cluster.run_settings.faults
        self._every_us = cluster.run_settings.fault_every_us

    def begin(self) -> None:
        """Strike from now on."""
        if self._faults:
            self.world.after(self._every_us, self._strike)

    def end(self) -> None:
        """Strike no more, and end what lasts."""
        self.over = True
        cluster = self.cluster
        self.world.trace.happened(self.world.now_us, "world", "quiet")
        cluster.network.heal()
        cluster.disk.full = False
        cluster.disk.failure_rate = 0.0
        cluster.disk.delay_us = 0
        cluster.coordination.reachable = True
        cluster.coordination.away.clear()
        cluster.coordination.fault_rate = 0.0
        cluster.when_committed = None
        for _, split in cluster.sources():
            split.poison.clear()
        for sink in cluster.sinks:
            sink.behave()
        for process in cluster.processes():
            process.cut = process.port_cut = None
            process.keep_time()
            if process.stopped:
                self.go_on(process)
            elif not process.up:
                cluster.start_again(process)

    def _strike(self) -> None:
        if self.over or self.cluster.over:
            return
        half_us = self._every_us // 2
        self.world.after(half_us + self.choices.below(2 * half_us), self._strike)
        # The first choice is no fault at all: a tape of zeros is a quiet run.
        name = self.choices.one_of(("", *self._faults))
        if name:
            FAULTS[name](self)

    # What faults are made of.

    def struck(self, fault: str, step: str, place: str = "world") -> None:
        """Note a fault."""
        self.cluster.coverage.struck(fault, step)
        self.world.trace.happened(self.world.now_us, place, f"{fault}: {step}", fault=True)

    def for_a_while(self, most_us: int, end: Callable[..., None], *arguments: object) -> None:
        """End something after a while, if the end of all faults does not come before."""
        delay_us = 10 * MILLISECOND + self.choices.below(most_us)
        self.world.after(delay_us, self._ended, end, arguments)

    def _ended(self, end: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if not self.over:
            end(*arguments)

    def process(self, processes: list[Process]) -> Process | None:
        """Return one of the processes that run and are not stopped."""
        running = [process for process in processes if process.up and not process.stopped]
        return self.choices.one_of(running) if running else None

    def sink(self) -> ExternalSink:
        """Return one of the consumers; the first one, which has the most to do, more often."""
        sinks = self.cluster.sinks
        return self.choices.one_of([*sinks[:1] * 3, *sinks])

    def go_on(self, process: Process) -> None:
        if process.stopped:
            self.cluster.coverage.sometimes("stopped process went on")
            process.go_on()


# The faults, each with what makes it strike.


def _kill(chaos: Chaos, kind: str, processes: list[Process]) -> None:
    """Kill a process now, or at some step of the protocol that comes soon."""
    process = chaos.process(processes)
    if process is None:
        return
    aim = chaos.choices.below(6)
    if aim == 0:
        process.kill("at rest")
        return
    if aim > 3:
        process.port_cut = PortCut(1 + chaos.choices.below(CALLS), process.kill)
        return
    process.cut = Cut(chaos.choices.one_of(CUTS[kind]), before=aim == 1)


def kill_worker(chaos: Chaos) -> None:
    """Kill -9 of a worker (F5)."""
    _kill(chaos, "worker", list(chaos.cluster.workers))


def kill_coordinator(chaos: Chaos) -> None:
    """Kill -9 of the coordinator (F6)."""
    _kill(chaos, "coordinator", list(chaos.cluster.coordinators))


def lose_power(chaos: Chaos) -> None:
    """All processes end at once, and what was not synced is lost or torn (F9).

    At once, or when some process calls a port soon.
    """
    process = chaos.process(list(chaos.cluster.processes()))
    if process is None or chaos.choices.below(2) == 0:
        _lose_power(chaos, "all")
        return
    kind = "worker" if process in chaos.cluster.workers else "coordinator"
    calls = 1 + chaos.choices.below(CALLS)
    process.port_cut = PortCut(calls, lambda where: _lose_power(chaos, f"{kind} {where}"))


def _lose_power(chaos: Chaos, where: str) -> None:
    chaos.struck("power loss", where)
    for process in chaos.cluster.processes():
        if process.up:
            process.kill("by power loss")
    chaos.cluster.disk.crash()
    chaos.cluster.lose_log_ends()
    for sink in chaos.cluster.sinks:
        sink.lose_power()


def stop_process(chaos: Chaos) -> None:
    """SIGSTOP of a process, and SIGCONT much later: it thinks that no time has passed (F20).

    Of a coordinator, which may have lost its lease by then, as often as of any other.
    """
    coordinators, all_processes = chaos.cluster.coordinators, list(chaos.cluster.processes())
    process = chaos.process(chaos.choices.one_of((all_processes, coordinators)))
    if process is not None:
        chaos.struck("SIGSTOP", "any", process.name)
        process.stop()
        chaos.for_a_while(6 * SECOND, chaos.go_on, process)


def partition(chaos: Chaos) -> None:
    """Some processes cannot reach the others, or be reached, or both (F13)."""
    names = [process.name for process in chaos.cluster.processes()]
    inside = [name for name in names if chaos.choices.below(2)]
    outside = [name for name in names if name not in inside]
    out, into = chaos.choices.one_of(((True, True), (True, False), (False, True)))
    pairs = [(a, b) for a in inside for b in outside if out]
    pairs += [(b, a) for a in inside for b in outside if into]
    for source, address in pairs:
        chaos.cluster.network.cut(source, address)

    def heal() -> None:
        for source, address in pairs:
            chaos.cluster.network.cut(source, address, by=-1)

    chaos.struck("partition", "any")
    chaos.for_a_while(5 * SECOND, heal)


def clog(chaos: Chaos) -> None:
    """Nothing arrives on some paths for a while; then all of it (F3)."""
    names = [process.name for process in chaos.cluster.processes()]
    until_us = chaos.world.now_us + chaos.choices.below(5 * SECOND)
    chaos.struck("clog", "any")
    for source in names:
        for address in names:
            if source != address and chaos.choices.below(3) == 2:
                chaos.cluster.network.clog(source, address, until_us)


def swizzle(chaos: Chaos) -> None:
    """Clog processes one after the other, and let them go in another order (F13)."""
    names = [process.name for process in chaos.cluster.processes()]
    chaos.struck("swizzle", "any")
    network, world = chaos.cluster.network, chaos.world
    for name in names:
        begins_us = chaos.choices.below(SECOND)
        ends_us = world.now_us + SECOND + chaos.choices.below(3 * SECOND)

        def clogged(name: str = name, ends_us: int = ends_us) -> None:
            for other in names:
                if other != name and not chaos.over:
                    network.clog(other, name, ends_us)
                    network.clog(name, other, ends_us)

        world.after(begins_us, clogged)


def break_connections(chaos: Chaos) -> None:
    """Connections break, and what was under way is gone (F1)."""
    names = [process.name for process in chaos.cluster.processes()]
    chaos.struck("connection broken", "any")
    for source in names:
        for address in names:
            if source != address and chaos.choices.below(2):
                chaos.cluster.network.break_connection(source, address)


def fill_disk(chaos: Chaos) -> None:
    """No space is left (F8)."""
    chaos.struck("disk full", "Store")
    chaos.cluster.disk.full = True

    def freed() -> None:
        chaos.cluster.disk.full = False

    chaos.for_a_while(4 * SECOND, freed)


def fail_disk(chaos: Chaos) -> None:
    """Some operations of the disk fail (F8)."""
    chaos.struck("disk fails", "Store")
    chaos.cluster.disk.failure_rate = 0.2

    def mended() -> None:
        chaos.cluster.disk.failure_rate = 0.0

    chaos.for_a_while(4 * SECOND, mended)


def slow_disk(chaos: Chaos) -> None:
    """Operations of the disk take long (F8)."""
    chaos.struck("disk slow", "Store")
    chaos.cluster.disk.delay_us = SECOND

    def quick() -> None:
        chaos.cluster.disk.delay_us = 0

    chaos.for_a_while(4 * SECOND, quick)


def rot_disk(chaos: Chaos) -> None:
    """A bit of a file of the newest snapshot flips at rest, and the coordinator ends (F4, F9).

    Nobody looks at what is at rest before a recovery; later snapshots would be made of what is damaged.
    """
    if chaos.cluster.rot():
        chaos.struck("bit rot", "at rest")
        for process in chaos.cluster.coordinators:
            if process.up:
                process.kill("behind bit rot")


def lose_coordination(chaos: Chaos) -> None:
    """Nobody reaches coordination (F7)."""
    chaos.struck("coordination away", "any")
    chaos.cluster.coordination.reachable = False

    def back() -> None:
        chaos.cluster.coordination.reachable = True

    chaos.for_a_while(5 * SECOND, back)


def lose_replies(chaos: Chaos) -> None:
    """Calls of coordination or their replies get lost (F7)."""
    chaos.struck("coordination loses replies", "any")
    chaos.cluster.coordination.fault_rate = 0.4

    def better() -> None:
        chaos.cluster.coordination.fault_rate = 0.0

    chaos.for_a_while(5 * SECOND, better)


def cut_off_leader(chaos: Chaos) -> None:
    """A coordinator does not reach coordination for so long that its session ends (F7)."""
    process = chaos.process(list(chaos.cluster.coordinators))
    if process is None:
        return
    chaos.struck("session expires", "any", process.name)
    away = chaos.cluster.coordination.away
    away.add(process.name)
    chaos.for_a_while(5 * SECOND, away.discard, process.name)


def change_scale(chaos: Chaos) -> None:
    """The job is started again with another number of workers, or will be behind the next snapshot (F17)."""
    cluster = chaos.cluster
    others = [n for n in range(1, len(cluster.workers) + 1) if n != cluster.workers_wanted]
    if not others:
        return
    wanted = chaos.choices.one_of(others)

    def change(when: str) -> None:
        if chaos.over:
            return
        cluster.workers_wanted = wanted
        chaos.struck("scale", when)
        for process in cluster.coordinators:
            if process.up:
                process.kill("to change the scale")

    if chaos.choices.below(2):
        cluster.when_committed = lambda: change("behind a snapshot")
    else:
        change("any")


def intrude(chaos: Chaos) -> None:
    """A node that speaks another version, or belongs to another cluster, wants to take part (F19)."""
    cluster = chaos.cluster
    chaos.struck("stranger", "Hello")
    codec = chaos.choices.one_of(STRANGERS)
    for process in cluster.coordinators:
        if process.up:
            cluster.network.intrude(
                codec, "stranger", process.name, Hello(cluster.job, "stranger 1", "stranger")
            )


FAULTS: Final[dict[str, Callable[[Chaos], None]]] = {
    "kill worker": kill_worker,
    "kill coordinator": kill_coordinator,
    "power loss": lose_power,
    "SIGSTOP": stop_process,
    "partition": partition,
    "clog": clog,
    "swizzle": swizzle,
    "connection broken": break_connections,
    "disk full": fill_disk,
    "disk fails": fail_disk,
    "disk slow": slow_disk,
    "bit rot": rot_disk,
    "coordination away": lose_coordination,
    "coordination loses replies": lose_replies,
    "session expires": cut_off_leader,
    "scale": change_scale,
    "stranger": intrude,
    **FAULTS_OUTSIDE,
}
"""The faults by name."""

FAULTS_TO_MEET: Final = (*FAULTS, "loss", "double", "overtaking", "alteration")
"""The faults that a soak has to meet: those that strike now and then, and those of single packets."""
