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
from fsql.runtime.dataflow.fold import Fold
from fsql.runtime.drivers.in_memory import run_in_memory
from fsql.tests.unit.dataflow.plans import NUMBER, call, column, insert, table

if TYPE_CHECKING:
    from fsql.runtime.dataflow.output import Output

ROWS = 400


def totals(mention: int) -> logical.Aggregate:
    """Return one group of all rows of a table: their number and the sum of a column."""
    scan = logical.Scan(table(0), mention)
    one = Literal(BIGINT, nullable=False, value=1)
    calls = call("COUNT"), call("SUM", column(scan, NUMBER))
    return logical.Aggregate(scan, (one,), ("one",), calls, ("n", "s"))


def chain(length: int) -> logical.Plan:
    """Return a join of as many totals, all of one key."""
    joined: logical.Plan = totals(0)
    for mention in range(1, length):
        other = totals(mention)
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

    def counted(output: Output) -> Output:
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
