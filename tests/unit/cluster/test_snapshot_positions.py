"""Where snapshots are announced: ahead of all rows, and nearer again when a burst is over."""

from __future__ import annotations

from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.coordinator.events import (
    ManifestCommitted,
    ManifestNotCommitted,
    SnapshotRequested,
)
from fsql.runtime.cluster.frames import (
    AnnounceSnapshot,
    CancelSnapshot,
    SnapshotAcknowledged,
    SnapshotAnswer,
)
from fsql.runtime.cluster.job_spec import JobSpec
from fsql.runtime.cluster.snapshots.epoch_snapshots import EpochSnapshots, first_number
from fsql.tests.queries.examples import EXAMPLES

NUMBER = first_number(1) + 1
"""The number before the first of epoch 1."""


def of_rows() -> EpochSnapshots:
    """Return the snapshots, one a second, of a job whose times are row numbers."""
    example = EXAMPLES["inverted_index"]
    plan = choose(
        example.compiled.graph, workers=1, fronts=example.fronts, policy=Policy.SPECULATIVE
    )
    return EpochSnapshots(JobSpec("job", 0, plan, (), (), b""), 1, 1.0, now=0.0)


def at(row: int) -> Root:
    return Root(row, START.origin)


def agree(snapshots: EpochSnapshots, number: int) -> None:
    """Have the one worker agree, as one that has nothing yet."""
    assert snapshots.on_answer(0, SnapshotAnswer(number, accepted=True, reached=START), 0.0) is None


def commit(snapshots: EpochSnapshots, number: int) -> None:
    """Have min time pass the position, and the manifest be committed."""
    snapshots.on_min_time(END)
    assert snapshots.on_manifest_outcome(ManifestCommitted(1, number, {})) is not None


def test_a_position_that_the_input_does_not_come_up_to_is_given_up_for_a_nearer_one() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(10)], 0.5) is None
    assert snapshots.due([at(10)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(10))
    # A burst: a fold was 99 rows ahead already.
    refusal = SnapshotAnswer(NUMBER + 1, accepted=False, reached=at(109))
    assert snapshots.on_answer(0, refusal, 1.1) == CancelSnapshot(NUMBER + 1)
    assert snapshots.due([at(110)], 1.1) == AnnounceSnapshot(NUMBER + 2, at(259))
    assert (
        snapshots.on_answer(0, SnapshotAnswer(NUMBER + 2, accepted=True, reached=at(110)), 1.2)
        is None
    )
    # The burst is over: 10 rows a second, and row 259 is far away.
    assert snapshots.next_timer() == 2.2
    assert snapshots.due([at(120)], 2.1) is None
    assert snapshots.due([at(120)], 2.2) == CancelSnapshot(NUMBER + 2)
    assert snapshots.next_timer() == 2.2
    assert snapshots.due([at(120)], 2.2) == AnnounceSnapshot(NUMBER + 3, at(125))


def test_a_position_that_the_input_comes_up_to_slowly_is_kept() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(1_000)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(1_000))
    assert snapshots.on_answer(
        0, SnapshotAnswer(NUMBER + 1, accepted=False, reached=at(2_000)), 1.5
    )
    assert snapshots.due([at(2_000)], 1.5) == AnnounceSnapshot(NUMBER + 2, at(3_501))
    agreed = SnapshotAnswer(NUMBER + 2, accepted=True, reached=at(2_000))
    assert snapshots.on_answer(0, agreed, 2.0) is None
    # It has come more than half of the way, so it will be there when as much time has passed again.
    assert snapshots.due([at(2_800)], 3.0) is None
    assert snapshots.next_timer() == 4.0
    assert snapshots.due([at(3_400)], 4.0) is None
    assert snapshots.next_timer() == 5.0
    # Now it stands still.
    assert snapshots.due([at(3_400)], 5.0) == CancelSnapshot(NUMBER + 2)
    assert snapshots.due([at(3_400)], 5.0) == AnnounceSnapshot(NUMBER + 3, at(4_057))


def test_one_that_is_late_does_not_make_the_next_late() -> None:
    snapshots = of_rows()
    begun = []
    for number, now in enumerate((1.0, 2.25, 3.125, 4.0, 7.0, 7.5, 8.0, 9.0), start=1):
        if snapshots.due([at(number)], now) is not None:
            begun.append(now)
            agree(snapshots, NUMBER + len(begun))
            commit(snapshots, NUMBER + len(begun))
    assert begun == [1.0, 2.25, 3.125, 4.0, 7.0, 7.5, 9.0]


def test_one_that_is_due_soon_comes_in_a_lull_and_does_not_make_the_next_early() -> None:
    snapshots = of_rows()
    assert snapshots.idle(0.94)
    assert not snapshots.idle(0.96)
    assert snapshots.due([at(10)], 0.94, caught_up=True) is None
    assert snapshots.due([at(10)], 0.96) is None
    assert snapshots.due([at(10)], 0.96, caught_up=True) == AnnounceSnapshot(NUMBER + 1, at(10))
    agree(snapshots, NUMBER + 1)
    commit(snapshots, NUMBER + 1)
    assert snapshots.next_timer() == 2.0
    assert snapshots.due([at(20)], 1.9, caught_up=True) is None
    assert snapshots.due([at(20)], 2.0) == AnnounceSnapshot(NUMBER + 2, at(20))


def test_workers_that_are_slow_are_waited_for() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(1_000)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(1_000))
    refusal = SnapshotAnswer(NUMBER + 1, accepted=False, reached=at(2_000))
    assert snapshots.on_answer(0, refusal, 3.0) == CancelSnapshot(NUMBER + 1)
    assert snapshots.due([at(2_000)], 3.0) == AnnounceSnapshot(NUMBER + 2, at(3_501))
    # It is busy with 1,000 rows for 2 seconds: as long as it has not answered, nothing is out of reach.
    assert snapshots.next_timer() is None
    assert snapshots.due([at(2_000)], 4.9) is None
    agreed = SnapshotAnswer(NUMBER + 2, accepted=True, reached=at(2_000))
    assert snapshots.on_answer(0, agreed, 5.0) is None
    assert snapshots.due([at(2_600)], 6.0) == CancelSnapshot(NUMBER + 2)
    assert snapshots.due([at(2_600)], 6.0) == AnnounceSnapshot(NUMBER + 3, at(2_900))
    refusal = SnapshotAnswer(NUMBER + 3, accepted=False, reached=at(4_000))
    assert snapshots.on_answer(0, refusal, 7.0) == CancelSnapshot(NUMBER + 3)
    assert snapshots.due([at(4_000)], 7.0) == AnnounceSnapshot(NUMBER + 4, at(6_101))
    agreed = SnapshotAnswer(NUMBER + 4, accepted=True, reached=at(4_000))
    assert snapshots.on_answer(0, agreed, 7.1) is None
    # The input is given twice the time now.
    assert snapshots.next_timer() == 9.1
    assert snapshots.due([at(5_000)], 9.0) is None


def test_in_a_burst_the_next_position_is_as_far_ahead_as_rows_run() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(1_000)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(1_000))
    refusal = SnapshotAnswer(NUMBER + 1, accepted=False, reached=at(2_000))
    assert snapshots.on_answer(0, refusal, 1.1) == CancelSnapshot(NUMBER + 1)
    assert snapshots.due([at(2_000)], 1.1) == AnnounceSnapshot(NUMBER + 2, at(3_501))
    agreed = SnapshotAnswer(NUMBER + 2, accepted=True, reached=at(2_900))
    assert snapshots.on_answer(0, agreed, 1.2) is None
    commit(snapshots, NUMBER + 2)
    assert snapshots.due([at(9_000)], 2.2) == AnnounceSnapshot(NUMBER + 3, at(10_351))


def test_where_no_rows_come_the_snapshots_that_are_kept_have_all() -> None:
    snapshots = of_rows()
    promise = Root(10, 5)
    for number in (1, 2):
        assert snapshots.due([promise], float(number)) == AnnounceSnapshot(NUMBER + number, promise)
        agree(snapshots, NUMBER + number)
        commit(snapshots, NUMBER + number)
    assert snapshots.due([promise], 3.0) is None
    assert snapshots.next_timer() == 4.0
    assert snapshots.due([Root(10, 6)], 4.0) == AnnounceSnapshot(NUMBER + 3, Root(10, 6))


def test_a_position_that_the_input_has_passed_is_not_given_up() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(10)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert (
        snapshots.on_answer(0, SnapshotAnswer(NUMBER + 1, accepted=True, reached=at(9)), 1.0)
        is None
    )
    assert snapshots.next_timer() == 2.0
    assert snapshots.due([at(11)], 2.0) is None
    assert snapshots.next_timer() is None
    assert snapshots.due([at(11)], 9.0) is None


def test_the_next_is_announced_while_one_is_stored() -> None:
    snapshots = of_rows()
    first, second, third = (NUMBER + number for number in (1, 2, 3))
    assert snapshots.due([at(10)], 1.0) == AnnounceSnapshot(first, at(10))
    snapshots.on_min_time(at(10))
    # Not all have agreed: somebody may still refuse.
    assert snapshots.due([at(20)], 2.0) is None
    assert snapshots.on_answer(0, SnapshotAnswer(first, accepted=True, reached=at(9)), 2.0) is None
    snapshots.on_min_time(at(9))
    assert snapshots.due([at(20)], 2.0) is None
    snapshots.on_min_time(at(10))
    assert snapshots.due([at(20)], 2.0) == AnnounceSnapshot(second, at(20))
    assert (
        snapshots.on_answer(0, SnapshotAnswer(second, accepted=True, reached=at(19)), 2.0) is None
    )
    # Min time has passed the second, and it is stored as well, before the first is committed.
    snapshots.on_acknowledged(0, SnapshotAcknowledged(first, (), ()))
    snapshots.on_acknowledged(0, SnapshotAcknowledged(second, (), ()))
    manifest = snapshots.take_manifest(at(20))
    assert manifest is not None
    assert (manifest.snapshot, manifest.position) == (first, (10, START.origin))
    snapshots.on_min_time(at(20))
    assert snapshots.due([at(30)], 3.0) is None
    assert snapshots.take_manifest(at(20)) is None
    assert snapshots.on_manifest_outcome(
        ManifestNotCommitted(1, first, "full")
    ) == AnnounceSnapshot(first, at(10))
    snapshots.on_min_time(at(20))
    manifest = snapshots.take_manifest(at(20))
    assert manifest is not None
    assert (manifest.snapshot, manifest.position) == (second, (20, START.origin))
    assert snapshots.due([at(30)], 3.0) == AnnounceSnapshot(third, at(30))


def test_one_that_cannot_be_stored_leaves_the_next_alone() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(10)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert (
        snapshots.on_answer(0, SnapshotAnswer(NUMBER + 1, accepted=True, reached=at(9)), 1.0)
        is None
    )
    snapshots.on_min_time(at(10))
    assert snapshots.due([at(20)], 2.0) == AnnounceSnapshot(NUMBER + 2, at(20))
    assert (
        snapshots.on_answer(0, SnapshotAnswer(NUMBER + 2, accepted=True, reached=at(19)), 2.0)
        is None
    )
    assert snapshots.on_declined(NUMBER + 1, 2.5) == CancelSnapshot(NUMBER + 1)
    assert snapshots.on_declined(NUMBER + 1, 2.5) is None
    snapshots.on_acknowledged(0, SnapshotAcknowledged(NUMBER + 1, (), ()))
    snapshots.on_min_time(at(20))
    assert snapshots.take_manifest(at(20)) is None
    snapshots.on_acknowledged(0, SnapshotAcknowledged(NUMBER + 2, (), ()))
    manifest = snapshots.take_manifest(at(20))
    assert manifest is not None
    assert manifest.snapshot == NUMBER + 2


def test_a_snapshot_that_is_not_agreed_to_gives_way_to_a_tick() -> None:
    snapshots = of_rows()
    assert snapshots.cancel_if_undecided(0.0) is None
    assert snapshots.due([at(10)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert snapshots.announce_tick(7, (0,), [at(10)]) is None
    assert snapshots.cancel_if_undecided(1.0) == CancelSnapshot(NUMBER + 1)
    assert snapshots.announce_tick(7, (0,), [at(10)]) == AnnounceSnapshot(NUMBER + 2, at(10), 7)


def test_one_that_is_agreed_to_or_requested_does_not() -> None:
    snapshots = of_rows()
    assert snapshots.due([at(10)], 1.0) == AnnounceSnapshot(NUMBER + 1, at(10))
    agree(snapshots, NUMBER + 1)
    assert snapshots.cancel_if_undecided(1.0) is None
    requested = of_rows()
    requested.requested.ask(SnapshotRequested("a", last=True))
    assert requested.due([at(10)], 0.5) == AnnounceSnapshot(NUMBER + 1, at(10))
    assert requested.cancel_if_undecided(0.5) is None


def test_snapshots_for_a_tick_follow_each_other_closely_at_first_and_at_the_end() -> None:
    snapshots = of_rows()

    def taken(begin: float, seconds: float) -> int:
        """Return how many snapshots are taken in a time, with a row each millisecond."""
        count = 0
        for number in range(round(seconds * 1000)):
            now = begin + number / 1000
            announced = snapshots.due([at(round(now * 1000))], now)
            if announced is not None:
                count += 1
                agree(snapshots, announced.snapshot)
                commit(snapshots, announced.snapshot)
        return count

    assert taken(0.0, 10.0) == 9
    snapshots.begin_frequent(20)
    assert taken(10.0, 1.0) == 21  # one at once, and 20 close behind it
    assert taken(11.0, 10.0) == 10
    snapshots.begin_frequent()
    assert taken(21.0, 10.0) == 201
    snapshots.end_frequent()
    assert taken(31.0, 10.0) == 10
