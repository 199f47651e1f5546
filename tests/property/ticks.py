"""Runs in which owners of keys and fronts, and choices of the plan change while rows flow.

A change is carried out in steps, at moments that are drawn: it is announced to one worker after the other,
and so on.  What is released may not depend on any of it.  Owner maps are random, so bins also come back to
workers that had them before.  They are drawn for all exchanges, for each one, or for a single one: then the
others keep theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from random import Random
from typing import TYPE_CHECKING

from fsql.compiler.holdings import Moves
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners, all_of_sets
from fsql.compiler.plan_choices import PlanChoices, choices_of
from fsql.compiler.tick_plan import Policy
from fsql.runtime.batch import END
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Ids,
    Kind,
    Promise,
    link_number,
)
from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot, rows_of_bins

if TYPE_CHECKING:
    from collections import Counter

    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.worker import Worker
    from fsql.runtime.drivers.cluster import Cluster
    from fsql.runtime.drivers.in_memory import SnapshotStart
    from fsql.tests.property.snapshots import Snapshots

_COORDINATOR = 1
"""The number of the sender in the ids of holds; no worker has it."""


class _Phase(Enum):
    ANNOUNCING = auto()
    CANCELLING = auto()
    SWITCHING = auto()
    MOVING = auto()
    COMPLETING = auto()


@dataclass
class _Change:
    """A change under way: `missing` are the workers that the phase has not reached."""

    position: Root
    owners: Owners
    choices: PlanChoices
    missing: list[int]
    readers: dict[int, int] = field(default_factory=dict)
    """The new owners of fronts that move."""
    phase: _Phase = _Phase.ANNOUNCING
    agreed: list[int] = field(default_factory=list)
    holds: dict[int, dict[int, int]] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    adopting: set[int] = field(default_factory=set)
    before: dict[str, tuple[IncrementalSnapshot, ...]] = field(default_factory=dict)
    """The state as of the last snapshot."""
    since: list[tuple[str, IncrementalSnapshot]] = field(default_factory=list)
    """The changes since then."""
    copied: set[int] = field(default_factory=set)
    """The new owners that have the state as of the last snapshot."""


@dataclass
class Ticks:
    """Changes owners in one run, besides the snapshots that are taken in it."""

    random: Random
    snapshots: Snapshots
    met: Counter[str]
    often: float = 0.3
    _change: _Change | None = None
    _ids: Ids = field(default_factory=lambda: Ids(1, link_number(_COORDINATOR, 0)))

    @property
    def begin(self) -> SnapshotStart | None:
        """Return the snapshot that the run goes on from; see `in_memory.SnapshotObserver`."""
        return self.snapshots.begin

    @property
    def busy(self) -> bool:
        """Return whether a change is under way."""
        return self._change is not None

    def observe(self, cluster: Cluster) -> None:
        """Take one step of a change, or of a snapshot, or begin one."""
        if self._change is not None:
            if cluster.idle or self.random.random() < 0.5:
                self._step(cluster, self._change)
        elif self.snapshots.pending or len(cluster.workers) == 1:
            self.snapshots.observe(cluster)
        elif self.random.random() < self.often:
            self._begin(cluster)
        else:
            self.snapshots.observe(cluster)

    def _begin(self, cluster: Cluster) -> None:
        if all(at.front.ended for at in cluster.fronts):
            return
        if any(worker.foreign.is_released for worker in cluster.workers):
            self._collect(cluster)
            return
        workers = list(range(len(cluster.workers)))
        self.random.shuffle(workers)
        owners = self._owners(cluster)
        position = self.snapshots.drawn(cluster)
        choices, readers = self._choices(cluster.plan), self._readers(cluster)
        policies = dict(choices.policies)
        for fold in (fold for each in cluster.workers for fold in each.folds.values()):
            returns = policies.get(fold.operator) is Policy.SPECULATIVE
            self.met["folds that wait no more"] += returns and fold.policy is Policy.ORDERED
        change = _Change(position, owners, choices, workers, readers)
        self._change, change.before = change, dict(self.snapshots.state)
        for number in workers:
            if self.random.random() < 0.7:
                self._copy(cluster.workers[number], change, number)

    def _copy(self, worker: Worker, change: _Change, number: int) -> None:
        """Give a new owner the state of the last snapshot, in parts."""
        bins = self._moves(worker, change, number).begun
        change.copied.add(number)
        for operator, parts in change.before.items():
            for part in parts:
                self._stage(worker, operator, rows_of_bins(part, bins.of(operator)))

    def _moves(self, worker: Worker, change: _Change, number: int) -> Moves:
        after = worker.holdings_after(change.owners, change.choices)
        return Moves(number, worker.holdings, after)

    def _stage(self, worker: Worker, operator: str, part: IncrementalSnapshot) -> None:
        size = self.random.choice((1, 3, 1000))
        for start in range(0, len(part), size):
            rows = part.rows.slice(start, size)
            worker.foreign.stage(operator, IncrementalSnapshot(rows, part.keys, part.appends))

    def _collect(self, cluster: Cluster) -> None:
        """Drop a part of the state that workers have given up."""
        for worker in cluster.workers:
            if worker.foreign.is_released:
                self.met["parts of released bins"] += 1
                worker.foreign.collect()
                return

    def _give_up(self, cluster: Cluster, change: _Change) -> None:
        """End a change that was cancelled."""
        self._change = None
        for number, worker in enumerate(cluster.workers):
            if number in change.copied:
                worker.foreign.discard_staged(self._moves(worker, change, number).begun)

    def _owners(self, cluster: Cluster) -> Owners:
        """Draw the owners of all exchanges together, of each, or of one of them; some stay."""
        workers, now = len(cluster.workers), cluster.workers[0].owners
        names = sorted(cluster.plan.exchanges.values())
        every = self._owner_map(workers)
        if Random(str(every.ranges)).random() < 0.3:
            return now
        match self.random.randrange(3) if names else 0:
            case 0:
                return Owners(every)
            case 1:
                one = self.random.choice(names)
                self.met["changes of one of several exchanges"] += len(names) > 1
                return Owners.of_maps(now.every, {**dict(now.exchanges), one: every})
            case _:
                drawn = [name for name in names if self.random.random() < 0.7]
                return Owners.of_maps(every, {name: self._owner_map(workers) for name in drawn})

    def _owner_map(self, workers: int) -> OwnerMap:
        """Draw an owner map: of single bins, of ranges, all to one worker, or equal ranges again."""
        draw = self.random.randrange
        match draw(4):
            case 0:
                return OwnerMap(tuple(draw(workers) for _ in range(BINS)), workers)
            case 1:
                cuts = sorted(draw(BINS) for _ in range(6))
                of_range = [draw(workers) for _ in range(7)]
                owners = [of_range[sum(cut <= number for cut in cuts)] for number in range(BINS)]
                return OwnerMap(tuple(owners), workers)
            case 2:
                return OwnerMap((draw(workers),) * BINS, workers)
            case _:
                return OwnerMap.of_equal_ranges(workers)

    def _readers(self, cluster: Cluster) -> dict[int, int]:
        """Draw which fronts move, and where to."""
        drawn = {
            at.front.number: self.random.randrange(len(cluster.workers)) for at in cluster.fronts
        }
        moves = self.random.random() < 0.7
        return {
            at.front.number: drawn[at.front.number]
            for at in cluster.fronts
            if moves and drawn[at.front.number] != at.worker
        }

    def _choices(self, plan: TickPlan) -> PlanChoices:
        """Draw policies and pre-aggregations for some of the folds, and orders for some of the filters."""
        every = choices_of(plan)
        policies = [
            (operator, self.random.choice(list(Policy)))
            for operator, _ in every.policies
            if self.random.random() < 0.7
        ]
        filters = [
            replace(order, groups=self._groups(order.groups))
            for order in every.filters
            if self.random.random() < 0.7
        ]
        self.met["policies drawn"] += len(policies)
        self.met["filter orders drawn"] += len(filters)
        least_rows = [
            (operator, self.random.choice((0, 1, 2)))
            for operator, _ in every.pre_aggregations
            if self.random.random() < 0.7
        ]
        self.met["pre-aggregations drawn"] += len(least_rows)
        draw = Random(str((policies, filters, least_rows, self.met["changes"])))
        rebalanced = [
            (table, draw.choice((0, 30, 100)))
            for table, _ in every.rebalanced
            if draw.random() < 0.7
        ]
        self.met["rebalancing drawn"] += len(rebalanced)
        lingers = [
            (table, draw.choice((0, 1, 50))) for table, _ in every.lingers if draw.random() < 0.7
        ]
        of_tables = tuple(rebalanced), tuple(lingers)
        replicated = [
            (operator, draw.random() < 0.5)
            for operator, _ in every.replicated
            if draw.random() < 0.7
        ]
        self.met["replication drawn"] += len(replicated)
        of_folds = tuple(policies), tuple(filters), tuple(least_rows)
        return PlanChoices(*of_folds, *of_tables, tuple(replicated))

    def _groups(self, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """Draw how the same conjuncts are ordered, and parted into filters."""
        numbers = [number for group in groups for number in group]
        self.random.shuffle(numbers)
        drawn: list[tuple[int, ...]] = []
        for number in numbers:
            if drawn and self.random.random() < 0.5:
                drawn[-1] = (*drawn[-1], number)
            else:
                drawn.append((number,))
        return tuple(drawn)

    def _step(self, cluster: Cluster, change: _Change) -> None:
        match change.phase:
            case _Phase.ANNOUNCING:
                self._announce(cluster, change)
            case _Phase.CANCELLING:
                number = change.agreed.pop()
                cluster.carry(
                    number, cluster.workers[number].cancel_change(_fronts(cluster, number))
                )
                if not change.agreed:
                    self._give_up(cluster, change)
            case _Phase.SWITCHING:
                number = change.missing.pop()
                cluster.carry(number, cluster.workers[number].switch(_fronts(cluster, number)))
                if not change.missing:
                    change.phase = _Phase.MOVING
            case _Phase.MOVING:
                self._move(cluster, change)
            case _Phase.COMPLETING:
                number = change.missing.pop()
                cluster.workers[number].complete_change()
                if not change.missing:
                    self._change = None
                    self.met["changes"] += 1

    def _announce(self, cluster: Cluster, change: _Change) -> None:
        number = change.missing.pop()
        worker, fronts = cluster.workers[number], _fronts(cluster, number)
        leaving = frozenset(front.number for front in fronts if front.number in change.readers)
        layout = change.owners, fronts, change.choices, leaving
        if worker.announce_change(change.position, *layout):
            change.agreed.append(number)
        else:
            self.met["changes refused"] += 1
            change.phase = _Phase.CANCELLING
        if self.random.random() < 0.02:
            self.met["changes cancelled"] += 1
            change.phase = _Phase.CANCELLING
        if change.phase is _Phase.CANCELLING:
            if not change.agreed:
                self._give_up(cluster, change)
        elif not change.missing:
            if not self._hold(cluster, change):
                self.met["changes too late"] += 1
                change.phase = _Phase.CANCELLING
                return
            change.missing = self.random.sample(change.agreed, len(change.agreed))
            change.phase = _Phase.SWITCHING

    def _hold(self, cluster: Cluster, change: _Change) -> bool:
        """Enter the holds of all new owners before any worker may switch; return whether it is possible."""
        downstream = {
            stage: cluster.acker.min_time_downstream(stage) for stage in cluster.workers[0].folds
        }
        if any(change.position < root < END for root in downstream.values()):
            return False
        entries = []
        for number, worker in enumerate(cluster.workers):
            assert worker.change is not None
            if worker.change.incoming:
                change.adopting.add(number)
                bins = all_of_sets(worker.change.incoming.values())
                change.holds[number] = {
                    stage: self._ids.next()
                    for stage, root in downstream.items()
                    if root != END and bins.of(cluster.plan.exchanges[stage])
                }
                entries += [
                    AckEntry(stage, Kind.HOLD, change.position, hold)
                    for stage, hold in change.holds[number].items()
                ]
        cluster.acker.acknowledge(Acknowledgement(tuple(entries)))
        self.met["changes that move nothing"] += not change.adopting
        return True

    def _move(self, cluster: Cluster, change: _Change) -> None:
        """Let one worker give its snapshot and release bins, or adopt those that have come."""
        workers = list(range(len(cluster.workers)))
        number = self.random.choice(workers)
        worker = cluster.workers[number]
        if change.readers and self.random.random() < 0.3:
            self._move_front(cluster, change)
        elif number not in change.taken:
            parts = worker.take_snapshots()
            if parts is not None:
                for operator, part in parts:
                    self.snapshots.add(operator, part, change.position)
                    change.since.append((operator, part))
                change.taken.add(number)
                cluster.carry(number, worker.release_bins())
        elif len(change.taken) == len(workers) and number in change.adopting:
            assert worker.change is not None
            bins = self._moves(worker, change, number).begun
            if number not in change.copied:
                self._copy(worker, change, number)
            for operator, part in change.since:
                self._stage(worker, operator, rows_of_bins(part, bins.of(operator)))
            queued = sum(len(b) for rows in worker.change.queued.values() for _, b in rows)
            self.met["rows queued"] += queued
            parts = [*change.since, *((o, p) for o, many in change.before.items() for p in many)]
            self.met["rows moved"] += sum(
                len(rows_of_bins(part, bins.of(operator))) for operator, part in parts
            )
            cluster.carry(number, worker.adopt(change.holds[number]))
            change.adopting.remove(number)
        has_moved = not change.adopting and not change.readers
        if len(change.taken) == len(workers) and has_moved:
            change.phase, change.missing = _Phase.COMPLETING, workers

    def _move_front(self, cluster: Cluster, change: _Change) -> None:
        """Let another worker continue a front that has come to the position, if all it has sent has come."""
        number = self.random.choice(sorted(change.readers))
        [at] = [at for at in cluster.fronts if at.front.number == number]
        worker = cluster.workers[at.worker]
        assert worker.change is not None
        if not worker.change.has_left(at.front) or not cluster.is_acknowledged(at.worker):
            return
        self.met["fronts moved"] += 1
        self.met["fronts moved at their end"] += at.front.ended
        self.met["fronts moved inside of a chunk"] += at.front.read_up_to > change.position
        before, at.front = at.front, Front(number, at.front.table, at.front.split)
        at.front.resume(before.resume_point(change.position), change.position)
        if before.ended:
            at.front.end()
        at.worker = change.readers.pop(number)
        cluster.carry(at.worker, [Promise(number, at.front.promised)])


def _fronts(cluster: Cluster, number: int) -> list[Front]:
    return [at.front for at in cluster.fronts if at.worker == number]
