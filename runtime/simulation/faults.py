"""Faults: which faults are injected into a run, when, and where.

The injector starts faults at random times; most of them end after a while.  When the injector ends, all
faults end: every process runs, the network is whole, disks and sinks work.  From then on the job has to
finish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import Hello
from fsql.runtime.simulation.codec import STRANGERS
from fsql.runtime.simulation.coverage import KILL_EFFECTS, KILL_EFFECTS_OF_WRITERS
from fsql.runtime.simulation.faults_coordination import FAULTS_OF_COORDINATION
from fsql.runtime.simulation.faults_outside import FAULTS_OUTSIDE, long_step
from fsql.runtime.simulation.process import Cut, PortCut
from fsql.runtime.simulation.proposals import propose_members, propose_tick
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.sinks import ExternalSink


CALLS: Final = 12
"""A kill occurs within this many port calls."""


class FaultInjector:
    """Injects the faults of a run."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.choices = cluster.world.tape.stream("faults")
        self.plan_choices = cluster.world.tape.stream("plan choices")
        self.pre_aggregations = cluster.world.tape.stream("pre-aggregations")
        self.rebalancing = cluster.world.tape.stream("rebalancing")
        self.lingers = cluster.world.tape.stream("lingers of ticks")
        self.exchange_choices = cluster.world.tape.stream("owners of exchanges")
        self.reader_choices = cluster.world.tape.stream("readers of fronts")
        self.effects_of_writers = cluster.world.tape.stream("effects of writers")
        self.over = False
        self._faults = cluster.run_settings.faults
        self._every_us = cluster.run_settings.fault_every_us

    def begin(self) -> None:
        """Inject faults from now on."""
        if self._faults:
            self.world.after(self._every_us, self._strike)

    def end(self) -> None:
        """Inject no more faults, and end the lasting ones."""
        self.over = True
        cluster = self.cluster
        self.world.trace.record(self.world.now_us, "world", "quiet")
        cluster.network.heal()
        cluster.state.disk.full = False
        cluster.state.disk.failure_rate = 0.0
        cluster.state.disk.delay_us = 0
        cluster.coordination.heal()
        cluster.state.when_committed = None
        for _, split in cluster.sources():
            split.poison.clear()
        for sink in cluster.sinks:
            sink.behave()
        for process in cluster.processes():
            process.cut = process.port_cut = None
            process.restore_clock()
            if process.stopped:
                self.resume(process)
            elif not process.up:
                cluster.restart(process)

    def _strike(self) -> None:
        if self.over or self.cluster.over:
            return
        half_us = self._every_us // 2
        self.world.after(half_us + self.choices.below(2 * half_us), self._strike)
        # The first choice is not a fault: a tape of zeros is a run without faults.
        name = self.choices.one_of(("", *self._faults))
        if name:
            (FAULTS | FAULTS_ON_REQUEST)[name](self)

    # The parts of faults.

    def record_fault(self, fault: str, step: str, place: str = "world") -> None:
        """Record a fault."""
        self.cluster.coverage.record_fault(fault, step)
        self.world.trace.record(self.world.now_us, place, f"{fault}: {step}", fault=True)

    def for_a_while(self, most_us: int, end: Callable[..., None], *arguments: object) -> None:
        """Call `end` after a while, unless all faults have ended by then."""
        delay_us = 10 * MILLISECOND + self.choices.below(most_us)
        self.world.after(delay_us, self._end, end, arguments)

    def set_for_a_while(
        self, most_us: int, target: object, attribute: str, *, during: object, after: object
    ) -> None:
        """Set an attribute to `during`, and later to `after`, unless all faults have ended by then."""
        setattr(target, attribute, during)
        self.for_a_while(most_us, setattr, target, attribute, after)

    def _end(self, end: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if not self.over:
            end(*arguments)

    def process(self, processes: list[Process]) -> Process | None:
        """Return one of the processes that run and are not stopped."""
        running = [process for process in processes if process.up and not process.stopped]
        return self.choices.one_of(running) if running else None

    def sink(self) -> ExternalSink:
        """Return one of the sinks; the first, which gets the most rows, more often."""
        sinks = self.cluster.sinks
        return self.choices.one_of([*sinks[:1] * 3, *sinks])

    def resume(self, process: Process) -> None:
        if process.stopped:
            self.cluster.coverage.sometimes("stopped process went on")
            process.resume()


# The faults.


def _kill(injector: FaultInjector, kind: str, processes: list[Process]) -> None:
    """Kill a process now, or soon at a step of the protocol."""
    process = injector.process(processes)
    if process is None:
        return
    aim = injector.choices.below(6)
    if aim == 0:
        process.kill("at rest")
        return
    if aim > 3:
        process.port_cut = PortCut(1 + injector.choices.below(CALLS), process.kill)
        return
    effect = injector.choices.one_of(KILL_EFFECTS[kind])
    if kind == "worker" and injector.cluster.writes_shards(process):
        effect = injector.effects_of_writers.one_of((effect, *KILL_EFFECTS_OF_WRITERS))
    process.cut = Cut(effect, before=aim == 1)


def kill_worker(injector: FaultInjector) -> None:
    """Kill -9 of a worker (F5)."""
    _kill(injector, "worker", list(injector.cluster.workers))


def kill_coordinator(injector: FaultInjector) -> None:
    """Kill -9 of the coordinator (F6)."""
    _kill(injector, "coordinator", list(injector.cluster.coordinators))


def lose_power(injector: FaultInjector) -> None:
    """All processes end at once, and data that was not synced is lost or torn (F9).

    This occurs immediately, or soon at a call of a port.
    """
    process = injector.process(list(injector.cluster.processes()))
    if process is None or injector.choices.below(2) == 0:
        _lose_power(injector, "all")
        return
    kind = "worker" if process in injector.cluster.workers else "coordinator"
    calls = 1 + injector.choices.below(CALLS)
    process.port_cut = PortCut(calls, lambda where: _lose_power(injector, f"{kind} {where}"))


def _lose_power(injector: FaultInjector, where: str) -> None:
    injector.record_fault("power loss", where)
    for process in injector.cluster.processes():
        if process.up:
            process.kill("by power loss")
    injector.cluster.state.disk.crash()
    injector.cluster.lose_log_ends()
    for sink in injector.cluster.sinks:
        sink.lose_power()


def stop_process(injector: FaultInjector) -> None:
    """SIGSTOP of a process, and SIGCONT much later, which the process cannot notice (F20).

    Coordinators, which may have lost their lease by then, are stopped as often as all other processes.
    """
    coordinators, all_processes = injector.cluster.coordinators, list(injector.cluster.processes())
    process = injector.process(injector.choices.one_of((all_processes, coordinators)))
    if process is not None:
        injector.record_fault("SIGSTOP", "any", process.name)
        process.stop()
        injector.for_a_while(6 * SECOND, injector.resume, process)


def partition(injector: FaultInjector) -> None:
    """Some processes cannot reach the others, or be reached, or both (F13)."""
    names = [process.name for process in injector.cluster.processes()]
    inside = [name for name in names if injector.choices.below(2)]
    outside = [name for name in names if name not in inside]
    out, into = injector.choices.one_of(((True, True), (True, False), (False, True)))
    pairs = [(a, b) for a in inside for b in outside if out]
    pairs += [(b, a) for a in inside for b in outside if into]
    for source, address in pairs:
        injector.cluster.network.cut(source, address)

    def heal() -> None:
        for source, address in pairs:
            injector.cluster.network.cut(source, address, by=-1)

    injector.record_fault("partition", "any")
    injector.for_a_while(5 * SECOND, heal)


def clog(injector: FaultInjector) -> None:
    """Deliver nothing on some paths for a while, then everything (F3)."""
    names = [process.name for process in injector.cluster.processes()]
    until_us = injector.world.now_us + injector.choices.below(5 * SECOND)
    injector.record_fault("clog", "any")
    for source in names:
        for address in names:
            if source != address and injector.choices.below(3) == 2:
                injector.cluster.network.clog(source, address, until_us)


def swizzle(injector: FaultInjector) -> None:
    """Clog processes one after the other, and release them in another order (F13)."""
    names = [process.name for process in injector.cluster.processes()]
    injector.record_fault("swizzle", "any")
    network, world = injector.cluster.network, injector.world
    for name in names:
        begins_us = injector.choices.below(SECOND)
        ends_us = world.now_us + SECOND + injector.choices.below(3 * SECOND)

        def begin_clog(name: str = name, ends_us: int = ends_us) -> None:
            for other in names:
                if other != name and not injector.over:
                    network.clog(other, name, ends_us)
                    network.clog(name, other, ends_us)

        world.after(begins_us, begin_clog)


def break_connections(injector: FaultInjector) -> None:
    """Break connections, with the loss of messages in flight (F1)."""
    names = [process.name for process in injector.cluster.processes()]
    injector.record_fault("connection broken", "any")
    for source in names:
        for address in names:
            if source != address and injector.choices.below(2):
                injector.cluster.network.break_connection(source, address)


def fill_disk(injector: FaultInjector) -> None:
    """No space is left (F8)."""
    injector.record_fault("disk full", "Store")
    injector.set_for_a_while(
        4 * SECOND, injector.cluster.state.disk, "full", during=True, after=False
    )


def fail_disk(injector: FaultInjector) -> None:
    """Some operations of the disk fail (F8)."""
    injector.record_fault("disk fails", "Store")
    injector.set_for_a_while(
        4 * SECOND, injector.cluster.state.disk, "failure_rate", during=0.2, after=0.0
    )


def slow_disk(injector: FaultInjector) -> None:
    """Operations of the disk take long (F8)."""
    injector.record_fault("disk slow", "Store")
    injector.set_for_a_while(
        4 * SECOND, injector.cluster.state.disk, "delay_us", during=SECOND, after=0
    )


def rot_disk(injector: FaultInjector) -> None:
    """A bit of a stored file of the newest snapshot flips, and the coordinator ends (F4, F9).

    Stored data is not read before a recovery; later snapshots would include the damaged data.
    """
    if injector.cluster.state.corrupt_newest():
        injector.record_fault("bit rot", "at rest")
        for process in injector.cluster.coordinators:
            if process.up:
                process.kill("after bit rot")


def change_scale(injector: FaultInjector) -> None:
    """Restart the job with another number of workers, now or after the next snapshot (F17)."""
    cluster = injector.cluster
    others = [n for n in range(1, len(cluster.workers) + 1) if n != cluster.workers_wanted]
    if not others:
        return
    wanted = injector.choices.one_of(others)

    def change(when: str) -> None:
        if injector.over:
            return
        cluster.workers_wanted = wanted
        injector.record_fault("scale", when)
        for process in cluster.coordinators:
            if process.up:
                process.kill("to change the scale")

    if injector.choices.below(2):
        cluster.state.when_committed = lambda: change("after a snapshot")
    else:
        change("any")


def intrude(injector: FaultInjector) -> None:
    """A node of another version, or of another cluster, tries to join (F19)."""
    cluster = injector.cluster
    injector.record_fault("stranger", "Hello")
    codec = injector.choices.one_of(STRANGERS)
    for process in cluster.coordinators:
        if process.up:
            cluster.network.intrude(
                codec, "stranger", process.name, Hello(cluster.job, "stranger 1", "stranger")
            )


FAULTS: Final[dict[str, Callable[[FaultInjector], None]]] = {
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
    **FAULTS_OF_COORDINATION,
    "scale": change_scale,
    "tick": propose_tick,
    "members": propose_members,
    "stranger": intrude,
    **FAULTS_OUTSIDE,
}
"""The faults by name."""

FAULTS_ON_REQUEST: Final[dict[str, Callable[[FaultInjector], None]]] = {"long step": long_step}
"""Faults that occur only in runs that name them."""

FAULTS_TO_MEET: Final = (*FAULTS, "loss", "double", "overtaking", "alteration")
"""The faults that have to occur in a soak: injected faults, and faults of single packets."""
