"""At-most-once: what an epoch passes over is noted so that damage to one manifest does not bring it back."""

from __future__ import annotations

from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import START
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    CoordinatorEvent,
    EpochTaken,
    LeaseHeld,
    ManifestCommitted,
    SinkOpened,
)
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import Begin, Hello
from fsql.runtime.cluster.job_spec import JobSpec, Output, Settings
from fsql.runtime.cluster.node import Received, Transmit
from fsql.runtime.cluster.snapshots.epoch_snapshots import first_number
from fsql.runtime.cluster.snapshots.manifest import Manifest, SkippedRange
from fsql.tests.queries.examples import EXAMPLES

SKIPPED = (SkippedRange(0, (3, 0), (7, 0)),)


class SkippedEpoch:
    """A coordinator with its worker, that begins an epoch at a manifest which has passed rows over."""

    def __init__(self) -> None:
        example = EXAMPLES["inverted_index"]
        plan = choose(
            example.compiled.graph, workers=1, fronts=example.fronts, policy=Policy.SPECULATIVE
        )
        output = Output(DeliveryOption.AT_MOST_ONCE, insert=0)
        self.node = CoordinatorNode(JobSpec("job", 0, plan, (), (output,), b""), "a", Settings())
        start = (START.time, START.origin)
        manifest = Manifest("job", 0, 1, first_number(1) + 2, start, 1, (), (), SKIPPED)
        self.step(LeaseHeld(10.0))
        self.step(Received(Hello("job", "worker", "b"), "b"))
        self.step(EpochTaken(2, manifest))

    def step(self, event: CoordinatorEvent) -> list[Manifest | Begin]:
        """Step; return the manifests to commit, and what the worker is told to begin with."""
        found: list[Manifest | Begin] = []
        for effect in self.node.step(event, 0.1):
            if isinstance(effect, CommitManifest):
                found.append(effect.manifest)
            elif isinstance(effect, Transmit) and isinstance(effect.what, Begin):
                found.append(effect.what)
        return found


def test_two_manifests_know_what_is_passed_over_before_anything_is_read() -> None:
    led = SkippedEpoch()
    noted = []
    found = led.step(SinkOpened(2, 0, START, 4))
    for _ in range(2):
        [manifest] = found
        assert isinstance(manifest, Manifest)
        assert (manifest.epoch, manifest.skipped) == (2, SKIPPED)
        noted.append(manifest.snapshot)
        found = led.step(ManifestCommitted(2, manifest.snapshot, {}))
    assert noted == [first_number(2), first_number(2) + 1]
    [begin] = found
    assert isinstance(begin, Begin)
