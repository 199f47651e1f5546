"""The coordinator's process: consumers that are slow do not keep it from anything else."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.blackhole.sink import NullEncoder
from fsql.connectors.stream_stores import NullStore
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    Deliver,
    Delivered,
    Finish,
    LeaseHeld,
    ManifestNotCommitted,
    OpenSinks,
    Progress,
    SinkLost,
    SinkOpened,
)
from fsql.runtime.cluster.delivery.delivery import Bundle
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import COORDINATOR, Heartbeat
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.cluster.snapshots.manifest import Manifest
from fsql.runtime.dataflow.barrier import DeadLetters
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.drivers.processes.coordinator_process import CoordinatorProcess
from fsql.runtime.sink import LocalSink, OpenReply, OpenRequest
from fsql.runtime.wire.seal import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect, CoordinatorEvent
    from fsql.runtime.hosts.ports import Steps

ENDS = [Root(1, 0), Root(2, 0)]
BUNDLES = [
    Deliver(1, 0, Bundle(follows, ends, 0, last=True, contents=None))
    for follows, ends in zip([START, ENDS[0]], ENDS, strict=True)
]
MANIFEST = Manifest("job", 0, 1, 1, (2, 0), 1, (), ())


class Script:
    """A node that answers to kinds of events with effects, and ends the run after the last kind."""

    def __init__(self, **effects: list[CoordinatorEffect]) -> None:
        self.effects = effects
        self.events: list[CoordinatorEvent] = []

    def step(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        del now
        self.events.append(event)
        return self.effects.pop(type(event).__name__, [])

    def next_timer(self) -> None:
        return None


class SinkOfTwo:
    """Is open when it is let be, and acknowledges two bundles as one."""

    descriptor = None
    missing_reason = None

    def __init__(self) -> None:
        self.opening = False
        self.let = threading.Event()
        self.was_let = False
        self.came: list[Root] = []

    def open(self, opening: OpenRequest) -> OpenReply:
        del opening
        self.opening = True
        self.was_let = self.let.wait(600)
        return OpenReply(START, 2)

    def deliver(self, bundle: Bundle) -> None:
        self.came.append(bundle.ends)

    def take_acknowledged(self) -> Sequence[Root]:
        came, self.came = self.came, []
        if len(came) < 2:
            self.came = came
            return []
        return came[-1:]

    def wait(self, seconds: float) -> None:
        """Do nothing."""

    def sync(self) -> None:
        raise FsqlError([Diagnostic("E537", "it is somebody else's")])

    def close(self) -> None:
        """Do nothing."""


def run(
    node: Script,
    consumer: SinkOfTwo,
    versions: dict[str, int] | None = None,
    *,
    renewal_seconds: float = 600.0,
    renewed: Callable[[], None] = lambda: None,
) -> tuple[CoordinatorProcess, list[Any], list[Any]]:
    """Run until the node ends it; return the process, what it has told, and what it has sent.

    The consumer is let open when the process goes round meanwhile; `renewed` is called with each renewal of
    the lease.
    """
    told: list[Any] = []
    sent: list[Any] = []

    def alive() -> bool:
        if consumer.opening:
            consumer.let.set()
        return True

    output = Output(DeliveryOption.EXACTLY_ONCE, name='table "out"')
    spec: Any = SimpleNamespace(job="job", outputs=[output])
    transport: Any = SimpleNamespace(
        wake=lambda: None,
        receive=lambda *_: [],
        send=lambda *each: sent.append(each),
        other_versions=versions or {},
    )

    def renew_lease() -> Steps[float]:
        renewed()
        yield
        return 1e9

    state: Any = SimpleNamespace(
        renewal_seconds=renewal_seconds,
        snapshot_problems=(),
        renew_lease=renew_lease,
        open_request=lambda: None,
        tick_proposals=lambda _: None,
        close=lambda: None,
    )
    supervisor: Any = SimpleNamespace(
        alive=alive, take_exited_workers=list, report=told.append, descriptor=None
    )
    script: Any = node
    process = CoordinatorProcess(script, spec, transport, state, [consumer], supervisor)
    process.run()
    return process, told, sent


def test_it_goes_on_while_a_consumer_takes_its_time_to_open() -> None:
    node = Script(LeaseHeld=[OpenSinks(1, START)], SinkOpened=[Finish()])
    consumer = SinkOfTwo()
    run(node, consumer)
    assert consumer.was_let
    assert node.events == [LeaseHeld(1e9), SinkOpened(1, 0, START, 2)]


class LongStep(Script):
    """A node whose first step lasts until the lease has been renewed three times, and then ends the run."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals = threading.Semaphore(0)
        self.held = False

    def step(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        super().step(event, now)
        if len(self.events) > 1:
            return []
        self.held = all(self.renewals.acquire(timeout=600) for _ in range(3))
        return [Finish()]


def test_the_lease_is_renewed_during_a_long_step() -> None:
    node = LongStep()
    run(node, SinkOfTwo(), renewal_seconds=0.01, renewed=node.renewals.release)
    assert node.held
    assert {*node.events} == {LeaseHeld(1e9)}


def test_it_waits_for_no_consumer_that_has_acknowledged_two_bundles_as_one() -> None:
    node = Script(LeaseHeld=[OpenSinks(1, START)], SinkOpened=[*BUNDLES], Delivered=[Finish()])
    process, _, _ = run(node, SinkOfTwo())
    assert node.events[-1] == Delivered(1, 0, ENDS[1])
    assert process.host.descriptors_to_wait_for() == []


def test_what_a_consumer_refuses_at_a_commit_is_the_outputs_loss() -> None:
    node = Script(LeaseHeld=[CommitManifest(MANIFEST)], SinkLost=[Finish()])
    run(node, SinkOfTwo())
    kinds = [type(event) for event in node.events]
    assert kinds[1:] in ([SinkLost], [SinkLost, ManifestNotCommitted])


def test_a_worker_of_another_version_is_told_of_and_told() -> None:
    progress = Progress("running", 1, "", Metrics(), (0, END), START, ("a disk is full",))
    node = Script(LeaseHeld=[progress, Finish()])
    _, told, sent = run(node, SinkOfTwo(), {"tcp://127.0.0.1:7": 1})
    stranger = (
        "the worker at tcp://127.0.0.1:7 cannot join, as it is of another version:"
        f" its wire format is 1, and this run's is {VERSION} (FSQL-E605)"
    )
    assert told[0].problems == ("a disk is full", stranger)
    assert sent == [("tcp://127.0.0.1:7", Heartbeat("job", 0, COORDINATOR))]


def test_a_local_consumer_is_synced_while_it_stores() -> None:
    class Slow(NullStore):
        def append(self, data: Sequence[memoryview]) -> None:
            del data
            consumer.sync()

    consumer = LocalSink(Slow(), NullEncoder())
    consumer.open(OpenRequest(1, START, DeliveryOption.EXACTLY_ONCE))
    consumer.deliver(Bundle(START, ENDS[0], 0, last=True, contents=DeadLetters(())))
    assert consumer.take_acknowledged() == [ENDS[0]]
