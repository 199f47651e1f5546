"""Joins do no more than their result takes: counted in rows that folds send, not in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import Literal
from fsql.compiler.lowering import lower
from fsql.compiler.sqltypes import BIGINT
from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.dataflow.backlog import PART_ROWS_MIN
from fsql.runtime.dataflow.fold import Fold
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.drivers.in_memory import run_in_memory
from fsql.runtime.kernels.join import append_only
from fsql.runtime.kernels.join.append_only import JoinKernel
from fsql.runtime.kernels.join.net_rows import ranges
from fsql.tests.reference.lines import line
from fsql.tests.reference.oracle import evaluate_job
from fsql.tests.unit.dataflow.plans import AT, KEY, NUMBER, SECOND, call, column, insert, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch
    from fsql.runtime.dataflow.fold_output import FoldOutput
    from fsql.runtime.kernels.join.append_only import StoredRows
    from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows


ROWS = 400


def totals(scan_number: int) -> logical.Aggregate:
    """Return one group of all rows of a table: their number and the sum of a column.

    Columns have other names for each scan: otherwise all were computed once, as copies of one view are.
    """
    scan = logical.Scan(table(0), scan_number)
    one = Literal(BIGINT, nullable=False, value=1)
    calls = call("COUNT"), call("SUM", column(scan, NUMBER))
    return logical.Aggregate(scan, (one,), ("one",), calls, (f"n{scan_number}", "s"))


def chain(length: int) -> logical.Plan:
    """Return a join of as many totals, all of one key."""
    joined: logical.Plan = totals(0)
    for scan_number in range(1, length):
        other = totals(scan_number)
        keys = (column(joined, 0),), (column(other, 0),)
        joined = logical.Join(joined, other, *keys, None)
    return joined


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("length", [2, 4])
def test_a_chain_of_joins_sends_what_each_row_of_its_input_changes(
    length: int, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = 0
    accept, advance = Fold.accept, Fold.advance

    def counted(output: FoldOutput) -> FoldOutput:
        nonlocal sent
        sent += sum(map(len, output.rows))
        return output

    monkeypatch.setattr(Fold, "accept", lambda *given: counted(accept(*given)))
    monkeypatch.setattr(Fold, "advance", lambda *given: counted(advance(*given)))
    job = logical.Job((insert(chain(length)),))
    given = [[(None, None, number, 0.0, 0) for number in range(ROWS)]]
    outcome = run_in_memory(choose(lower(job), policy=policy), {0: given}, seed=1, batch_rows=100)
    changes = 2 * ROWS - 1  # each row but the first takes the pair back that was, and adds one
    assert len(outcome.released[0]) == changes
    folds = length + length - 1
    if policy is Policy.ORDERED:
        assert sent == folds * changes
    assert folds * changes <= sent <= 3 * folds * changes


def crossed(low_us: int, high_us: int) -> logical.Insert:
    """Return a join of two tables of one key within a range of time."""
    left, right = (logical.Scan(table(number, event=True), number) for number in range(2))
    near = logical.TimeRange(AT, AT, low_us, high_us)
    return insert(logical.Join(left, right, (column(left, KEY),), (column(right, KEY),), near))


def of_one_key(count: int) -> list[list[tuple[Value, ...]]]:
    """Return a row of one key each second."""
    return [[("a", None, number, 0.0, number * SECOND) for number in range(count)]]


@pytest.mark.parametrize("policy", Policy)
def test_a_join_looks_only_at_pairs_in_its_time_range(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0

    def counted(low: Ints, size: Ints) -> tuple[Ints, Ints]:
        nonlocal looked_at
        looked_at += int(size.sum())
        return ranges(low, size)

    monkeypatch.setattr(append_only, "ranges", counted)
    job = logical.Job((crossed(-SECOND, SECOND),))
    inputs = {0: of_one_key(ROWS), 1: of_one_key(ROWS)}
    outcome = run_in_memory(choose(lower(job), policy=policy), inputs, seed=1, batch_rows=ROWS)
    pairs = 3 * ROWS - 2
    assert len(outcome.released[0]) == pairs
    # New rows of both sides look at each other from both sides; a repair looks again.
    assert pairs <= looked_at <= 4 * pairs


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("workers", [1, 3])
def test_pairs_are_made_in_parts(
    policy: Policy, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = 0
    run = Worker._run

    def counted(worker: Worker, stage: int, batches: list[Batch], *, repairs: bool) -> None:
        nonlocal largest
        if stage in worker.folds:
            largest = max(largest, sum(map(len, batches)))
        run(worker, stage, batches, repairs=repairs)

    monkeypatch.setattr(Worker, "_run", counted)
    monkeypatch.setattr(append_only, "PAIRS_MAX", 100)
    wide = ROWS * SECOND
    job = logical.Job((crossed(-wide, wide),))
    inputs = {0: of_one_key(40), 1: of_one_key(40)}
    plan = choose(lower(job), policy=policy, workers=workers)
    outcome = run_in_memory(plan, inputs, seed=1, batch_rows=40)
    [expected] = evaluate_job(job, inputs).released
    sink = job.inserts[0].sink
    assert expected == tuple(
        (tuple(root), line(sink, label or "+I", row)) for root, label, row in outcome.released[0]
    )
    # A repair takes back what was made in a part or two as well.
    assert 0 < largest <= 300


@pytest.mark.slow
@pytest.mark.parametrize("policy", Policy)
def test_a_backlog_is_not_given_to_the_kernel_again_for_each_part(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_in = 150
    given = parts = 0
    apply = JoinKernel.apply

    def counted(
        kernel: JoinKernel, sides: Sequence[KeyedRows | None], *, undoable: bool
    ) -> ApplyResult[StoredRows]:
        nonlocal given, parts
        parts += 1
        given += sum(len(rows.slot) for rows in sides if rows is not None)
        return apply(kernel, sides, undoable=undoable)

    monkeypatch.setattr(JoinKernel, "apply", counted)
    monkeypatch.setattr(append_only, "PAIRS_MAX", 400)
    wide = rows_in * SECOND
    job = logical.Job((crossed(-wide, wide),))
    inputs = {0: of_one_key(rows_in), 1: of_one_key(rows_in)}
    outcome = run_in_memory(choose(lower(job), policy=policy), inputs, seed=1, batch_rows=rows_in)
    assert len(outcome.released[0]) == rows_in * rows_in
    assert parts > rows_in * rows_in // 400
    # The kernel takes about half of each part; the first part is the whole.
    assert given <= 4 * 2 * rows_in + 2 * PART_ROWS_MIN * parts
