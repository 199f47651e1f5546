"""Snapshots that somebody asks for: announced at once, and the last one of a run bounds what is released."""

from __future__ import annotations

from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.coordinator.events import (
    ManifestCommitted,
    ManifestNotCommitted,
    SnapshotRequested,
)
from fsql.runtime.cluster.frames import AnnounceSnapshot, CancelSnapshot, SnapshotAnswer
from fsql.runtime.cluster.job_spec import JobSpec
from fsql.runtime.cluster.snapshots.epoch_snapshots import EpochSnapshots, first_number
from fsql.tests.queries.examples import EXAMPLES

NUMBER = first_number(1) + 1
"""The number before the first of epoch 1."""


def snapshots_of(every: float | None) -> EpochSnapshots:
    """Return the snapshots of a job of one worker."""
    example = EXAMPLES["inverted_index"]
    plan = choose(
        example.compiled.graph, workers=1, fronts=example.fronts, policy=Policy.SPECULATIVE
    )
    return EpochSnapshots(JobSpec("job", 0, plan, (), (), b""), 1, every, now=0.0)


def at(row: int) -> Root:
    return Root(row, START.origin)


def release_bound(snapshots: EpochSnapshots) -> Root | None:
    return snapshots.requested.release_bound


def agree(snapshots: EpochSnapshots, number: int) -> None:
    assert snapshots.on_answer(0, SnapshotAnswer(number, accepted=True, reached=START), 0.0) is None


def test_one_is_announced_at_once() -> None:
    snapshots = snapshots_of(60.0)
    assert snapshots.due([at(10)], 0.5) is None
    snapshots.requested.ask(SnapshotRequested("a", last=False))
    assert not snapshots.idle(0.5)
    assert snapshots.due([at(10)], 0.5) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert snapshots.requested.answers(NUMBER + 1) == "a"
    assert snapshots.requested.release_bound is None
    snapshots.requested.ask(SnapshotRequested("a", last=False))  # it is told again and again
    agree(snapshots, NUMBER + 1)
    snapshots.on_min_time(END)
    assert snapshots.on_manifest_outcome(ManifestCommitted(1, NUMBER + 1, {})) is not None
    assert snapshots.requested.answers(NUMBER + 1) == ""
    assert snapshots.due([at(20)], 0.6) is None


def test_a_job_without_snapshots_takes_those_that_are_asked_for() -> None:
    snapshots = snapshots_of(None)
    assert snapshots.due([at(10)], 100.0) is None
    snapshots.requested.ask(SnapshotRequested("a", last=False))
    assert snapshots.due([at(10)], 100.0) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert snapshots.next_timer() is None
    agree(snapshots, NUMBER + 1)
    snapshots.on_min_time(at(10))
    snapshots.on_manifest_outcome(ManifestCommitted(1, NUMBER + 1, {}))
    assert snapshots.due([at(20)], 200.0) is None
    assert snapshots.idle(200.0)


def test_nothing_is_asked_of_a_job_that_has_read_nothing() -> None:
    snapshots = snapshots_of(1.0)
    snapshots.requested.ask(SnapshotRequested("a", last=False))
    assert snapshots.due([START], 0.5) is None
    assert snapshots.due([at(1)], 0.6) == AnnounceSnapshot(NUMBER + 1, at(1))


def test_the_next_one_answers_if_one_is_cancelled_or_lost() -> None:
    snapshots = snapshots_of(60.0)
    snapshots.requested.ask(SnapshotRequested("a", last=True))
    assert snapshots.due([at(10)], 0.5) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert release_bound(snapshots) == at(10)
    refusal = SnapshotAnswer(NUMBER + 1, accepted=False, reached=at(12))
    assert snapshots.on_answer(0, refusal, 0.6) == CancelSnapshot(NUMBER + 1)
    assert release_bound(snapshots) is None
    assert snapshots.due([at(12)], 0.6) == AnnounceSnapshot(NUMBER + 2, at(16))
    assert release_bound(snapshots) == at(16)
    agree(snapshots, NUMBER + 2)
    snapshots.on_min_time(at(16))
    snapshots.on_manifest_outcome(ManifestNotCommitted(1, NUMBER + 2, "the disk is full"))
    assert release_bound(snapshots) is None
    assert snapshots.due([at(20)], 0.7) == AnnounceSnapshot(NUMBER + 3, at(24))
    assert snapshots.requested.answers(NUMBER + 3) == "a"


def test_the_last_one_is_not_below_what_a_sink_has() -> None:
    snapshots = snapshots_of(60.0)
    snapshots.requested.ask(SnapshotRequested("a", last=True))
    announced = snapshots.due([at(10)], 0.5, stored_below=at(50))
    assert announced == AnnounceSnapshot(NUMBER + 1, at(50))
    agree(snapshots, NUMBER + 1)
    snapshots.on_min_time(at(50))
    assert snapshots.requested.drained_at is None
    snapshots.on_manifest_outcome(ManifestCommitted(1, NUMBER + 1, {}))
    assert snapshots.requested.drained_at == snapshots.requested.release_bound == at(50)
