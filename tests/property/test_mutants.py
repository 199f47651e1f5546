"""The tester's test: the engine with a mistake in it has to be told from the right one.

Each mutant breaks one rule of the engine's contracts: repairs, holds, min time, promises, routes, order,
lateness, consolidation, labels.  A mutant that no case finds means that the cases or the schedules do not
reach the rule.  Mutants replace private methods, so they have to follow when those change.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.batch import END, Root
from fsql.runtime.change_order import canonical_order
from fsql.runtime.dataflow import barrier, exchange, fold, sink_gate
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.applied_rows import AppliedRows
from fsql.runtime.dataflow.fold_output import FoldOutput
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import Kind
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.maps import windows
from fsql.runtime.order import position_order
from fsql.tests.property.cases import Case, case_of
from fsql.tests.property.check import random_schedule
from fsql.tests.property.ways import Outcome, by_engine, by_oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    Patch = pytest.MonkeyPatch

SEEDS = 400
SCHEDULES = 4


@cache
def drawn_case(kind: str, seed: int) -> tuple[Case, Outcome] | None:
    """Return a case and what it should release; None where the seed gives none."""
    try:
        case = case_of(kind, seed)
    except FsqlError:
        return None
    return case, by_oracle(case.job, case.inputs)


def first_found(seeds: int, first: tuple[str, int] | None = None) -> tuple[str, int] | None:
    """Return the first case that finds that the engine is wrong; None if none does.

    `first` is tried before the others.
    """
    others = ((kind, seed) for seed, kind in product(range(seeds), ("script", "plan")))
    for kind, seed in others if first is None else chain([first], others):
        drawn = drawn_case(kind, seed)
        if drawn is not None and found_wrong(*drawn, Random(f"{kind} {seed}")):
            return kind, seed
    return None


def found_wrong(case: Case, expected: Outcome, random: Random) -> bool:
    """Say whether one of a few schedules shows that the engine is wrong."""
    for _ in range(SCHEDULES):
        try:
            actual, _ = by_engine(case.job, case.inputs, random_schedule(random))
        except (AssertionError, LookupError, ValueError):  # The engine may notice by itself.
            return True
        if expected.difference(actual):
            return True
    return False


# The mutants.


def rows_that_come_late_are_applied_as_the_latest(patch: Patch) -> None:
    def repair(
        self: AppliedRows,
        _later: object,
        _least: Root,
        sides: list[Any],
        _final: Root,
        output: FoldOutput,
    ) -> None:
        applied, _ = self._apply(sides, undoable=True)
        if applied is not None:
            self._log.append(sides, applied)
            output.append(applied)

    patch.setattr(AppliedRows, "repair", repair)


def repairs_take_nothing_back(patch: Patch) -> None:
    right = FoldOutput.append_differences

    def append(self: FoldOutput, made: list[Any], _old: object, *, by_path: bool) -> None:
        right(self, made, [], by_path=by_path)

    patch.setattr(FoldOutput, "append_differences", append)


def undo_restores_nothing(patch: Patch) -> None:
    patch.setattr(AppliedRows, "_restore", lambda *_: None)


def holds_are_not_told(patch: Patch) -> None:
    patch.setattr(fold.Fold, "hold", lambda _: None)


def min_time_overlooks_messages(patch: Patch) -> None:
    patch.setattr(Acker, "acknowledge", _overlooking(Kind.MESSAGE))


def min_time_overlooks_holds(patch: Patch) -> None:
    patch.setattr(Acker, "acknowledge", _overlooking(Kind.HOLD))


def _overlooking(kind: Kind) -> Callable[[Acker, Any], Any]:
    right = Acker.acknowledge

    def acknowledge(self: Acker, given: Any) -> Any:
        kept = tuple(entry for entry in given.entries if entry.kind is not kind)
        return right(self, type(given)(kept))

    return acknowledge


def fronts_promise_a_row_too_much(patch: Patch) -> None:
    right = Front._successor
    patch.setattr(Front, "_successor", lambda self, row: right(self, row + 1))


def the_barrier_releases_what_is_at_min_time(patch: Patch) -> None:
    right = barrier.Barrier.advance

    def advance(self: barrier.Barrier, min_time: Root) -> Any:
        later = min_time if min_time == END else Root(min_time.time + 1, min_time.origin)
        return right(self, later)

    patch.setattr(barrier.Barrier, "advance", advance)


def the_barrier_forgets_repairs(patch: Patch) -> None:
    right = sink_gate.SinkGate.accept

    def accept(self: sink_gate.SinkGate, batch: Any, **_repairs: bool) -> None:
        right(self, batch, repairs=False)

    patch.setattr(sink_gate.SinkGate, "accept", accept)


def rows_that_tie_come_as_they_arrive(patch: Patch) -> None:
    patch.setattr(sink_gate, "position_order", lambda rows, **_: position_order(rows, ties=False))


def updates_are_not_paired(patch: Patch) -> None:
    right = canonical_order

    def order(rows: Any, key: tuple[int, ...] | None) -> Any:
        return right(rows, key).rows, np.empty(0, np.int64)

    patch.setattr(sink_gate, "canonical_order", order)
    patch.setattr(sink_gate, "order_of_replacements", lambda *_: None)


def routes_depend_on_the_batch(patch: Patch) -> None:
    patch.setattr(
        exchange,
        "hash_rows",
        lambda keys, count: hash_rows(keys, count) ^ np.uint32(count % 4 << 30),
    )


def rows_at_the_time_of_the_closing_are_on_time(patch: Patch) -> None:
    def late(batch: Any, closing: Any) -> Any:
        ends = windows._micros(batch.columns[closing.window_end])
        close = -(-ends // closing.grain_us) * closing.grain_us + closing.delay_us
        return batch.time > close

    patch.setattr(windows, "late", late)


MUTANTS: dict[Callable[[Patch], None], tuple[str, int]] = {
    rows_that_come_late_are_applied_as_the_latest: ("plan", 2),
    repairs_take_nothing_back: ("plan", 2),
    undo_restores_nothing: ("plan", 2),
    holds_are_not_told: ("script", 0),
    min_time_overlooks_messages: ("script", 0),
    min_time_overlooks_holds: ("script", 0),
    fronts_promise_a_row_too_much: ("plan", 0),
    the_barrier_releases_what_is_at_min_time: ("script", 0),
    the_barrier_forgets_repairs: ("plan", 2),
    rows_that_tie_come_as_they_arrive: ("script", 8),
    updates_are_not_paired: ("script", 3),
    routes_depend_on_the_batch: ("script", 0),
    rows_at_the_time_of_the_closing_are_on_time: ("script", 46),
}
"""Each mutant has a case that finds it; if cases have changed since, others are tried."""


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_found(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    found = first_found(SEEDS, MUTANTS[mutant])
    assert found is not None, f"no case finds that {mutant.__name__.replace('_', ' ')}"


@pytest.mark.slow
def test_the_engine_as_it_is_is_not_found_wrong() -> None:
    assert first_found(5) is None
