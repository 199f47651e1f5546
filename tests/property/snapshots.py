"""Runs that take snapshots, and runs that go on from them.

A run takes snapshots at positions that are drawn: before its first step, where much is read beyond a
position before min time comes to it, and at any step later.  Some are cancelled.  What goes on from one has
another number of workers, another policy and batch size, other interleavings, and snapshots of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, PUNCTUATION, START, Root
from fsql.runtime.drivers.in_memory import SnapshotStart, run_in_memory
from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot, merge_snapshots
from fsql.tests.property.check import random_schedule
from fsql.tests.property.ways import Outcome, chosen, lowered, outcome_of
from fsql.tests.reference.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    import pyarrow as pa

    from fsql.runtime.drivers.cluster import Cluster
    from fsql.runtime.drivers.in_memory import SnapshotObserver
    from fsql.tests.property.cases import Case
    from fsql.tests.property.ways import Schedule

    State = dict[str, tuple[IncrementalSnapshot, ...]]


@dataclass
class Snapshots:
    """Announces, cancels and collects the snapshots of one run; `taken` has those that became whole."""

    random: Random
    roots: Sequence[Root]
    state: State
    often: float
    met: Counter[str]
    begin: SnapshotStart | None = None
    early: Root | None = None
    cancels: float = 0.02
    taken: list[SnapshotStart] = field(default_factory=list)
    _position: Root | None = None
    _missing: set[int] = field(default_factory=set)

    @property
    def busy(self) -> bool:
        """Return False: a run does not wait for snapshots."""
        return False

    @property
    def pending(self) -> bool:
        """Return whether a snapshot is announced."""
        return self._position is not None

    def observe(self, cluster: Cluster) -> None:
        """Do what this moment brings; see `in_memory.SnapshotObserver`."""
        if self._position is not None:
            self._collect(cluster)
        elif self.early is not None:
            self._announce(cluster, self.early)
            self.early = None
        elif self.random.random() < self.often:
            self._announce(cluster, self.drawn(cluster))

    def drawn(self, cluster: Cluster) -> Root:
        """Return a position: one of the input's, one close by, or somewhat ahead of what was read.

        No fold has applied it; rows on both sides of it may have become one.
        """
        folds = [fold for worker in cluster.workers for fold in worker.folds.values()]
        reached = max((fold.reached for fold in folds), default=START)
        ahead = [root for root in self.roots if root > reached]
        if ahead and self.random.random() < 0.8:
            time, origin = self.random.choice(ahead[:8])
        else:
            promised = [at.front.promised for at in cluster.fronts if not at.front.ended]
            time, origin = max([*promised, reached])
            time += self.random.choice((0, 1, 500_000, 2_000_000))
        return Root(
            time, self.random.choice((origin, origin, origin + 1, PUNCTUATION, START.origin))
        )

    def _announce(self, cluster: Cluster, position: Root) -> None:
        workers = cluster.workers
        agreed = [worker for worker in workers if worker.announce(position)]
        if len(agreed) == len(workers):
            self._position, self._missing = position, set(range(len(workers)))
            return
        self.met["refused"] += 1
        for worker in agreed:
            worker.cancel()

    def _collect(self, cluster: Cluster) -> None:
        assert self._position is not None
        if self.random.random() < self.cancels:
            for worker in cluster.workers:
                worker.cancel()
            self.met["cancelled"] += 1
            self.met["cancelled late"] += len(self._missing) < len(cluster.workers)
            self._position = None
            return
        for number in sorted(self._missing):
            parts = cluster.workers[number].take_snapshots()
            if parts is not None:
                self._missing.remove(number)
                for operator, part in parts:
                    self.add(operator, part, self._position)
        if not self._missing:
            self.taken.append(SnapshotStart(self._position, dict(self.state)))
            self._position = None

    def add(self, operator: str, part: IncrementalSnapshot, position: Root) -> None:
        """Add an incremental snapshot; sometimes merge the last few, or all."""
        known = [*self.state.get(operator, ()), part]
        some = self.random.choice((0, 0, 0, 2, 3, len(known)))
        if some >= 2:
            self.met["merges"] += 1
            known[-some:] = [merge_snapshots(known[-some:], position, whole=some >= len(known))]
        self.state[operator] = tuple(known)


def run_with_snapshots(
    case: Case, schedule: Schedule, snapshots: Snapshots, watcher: SnapshotObserver | None = None
) -> Outcome:
    """Run a case by the engine, and take snapshots; they are taken by `watcher`, if there is one."""
    fronts = {ordinal: len(splits) for ordinal, splits in case.inputs.items()}
    plan = choose(
        lowered(case.job), workers=schedule.workers, fronts=fronts, policy=schedule.policy
    )
    plan = chosen(plan, schedule)
    with schedule.thresholds():
        result = run_in_memory(
            plan,
            case.inputs,
            seed=schedule.seed,
            batch_rows=schedule.batch_rows,
            read_ahead=schedule.read_ahead,
            watcher=watcher or snapshots,
        )
    snapshots.met["runs that repair"] += result.rows_redone > 0
    snapshots.met["runs that hold"] += result.rows_held > 0
    snapshots.met["runs that rebalance"] += result.rebalanced > 0
    return outcome_of(case.job, result)


def from_on(outcome: Outcome, position: Root) -> Outcome:
    """Return what of an outcome is at `position` or behind."""
    return Outcome(
        tuple(tuple(row for row in rows if row[0] >= position) for rows in outcome.released),
        tuple(tuple(row for row in rows if row[0] >= position) for rows in outcome.late),
        tuple(dead_letter for dead_letter in outcome.dead_letters if dead_letter[0] >= position),
        outcome.error,
    )


def check_snapshots(
    case: Case, expected: Outcome, roots: Sequence[Root], random: Random, met: Counter[str]
) -> None:
    """Run a case with snapshots, go on from them, and compare everything with what is expected.

    Raises:
        AssertionError: something else was released.
    """
    begin: SnapshotStart | None = None
    state: State = {}
    for generation in range(random.choice((2, 3, 4))):
        schedule = replace(
            random_schedule(random), read_ahead=random.choice((1_000_000, 1_000_000, 6))
        )
        ahead = [root for root in roots if begin is None or root > begin.position]
        early = random.choice(ahead) if ahead and random.random() < 0.6 else None
        often = random.choice((0.05, 0.5, 1.0))
        snapshots = Snapshots(random, ahead, dict(state), often, met, begin, early)
        position = START if begin is None else begin.position
        actual = run_with_snapshots(case, schedule, snapshots)
        difference = from_on(expected, position).difference(actual)
        way = f"generation {generation} from {position} with {schedule}"
        assert not difference, f"{case.name}: {way} differs in {difference}"
        met["snapshots"] += len(snapshots.taken)
        met["runs"] += 1
        met["runs from a snapshot"] += begin is not None
        met["chains"] += len(snapshots.taken) > 1
        # Nobody goes on from behind an error: a snapshot counts once the barrier has passed it.
        stop = END if expected.error is None else expected.error[1]
        usable = [one for one in snapshots.taken if one.position <= stop]
        if not usable:
            continue
        begin = random.choice(usable)
        state = dict(begin.state)
        met["rows restored"] += sum(len(one) for parts in state.values() for one in parts)


def state_at(
    case: Case, schedule: Schedule, position: Root, random: Random
) -> dict[str, pa.RecordBatch] | None:
    """Return the whole state at a position by one way of running a case; None if it is not reached."""
    snapshots = Snapshots(random, (), {}, 0.0, Counter(), early=position, cancels=0.0)
    run_with_snapshots(case, schedule, snapshots)
    if not snapshots.taken:
        return None
    [found] = snapshots.taken
    whole = {
        operator: merge_snapshots(parts, position, whole=True).rows
        for operator, parts in found.state.items()
    }
    return {operator: rows for operator, rows in whole.items() if rows.num_rows}


def roots_of(case: Case) -> list[Root]:
    """Return the root positions of the rows of a case, in order."""
    rows = Oracle(case.job, case.inputs, literal=False).rows
    return sorted({Root(*row.root) for of_table in rows.values() for row in of_table})
