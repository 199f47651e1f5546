"""FIRST_VALUE and LAST_VALUE of many rows at once: the same as row by row.

Catches a value that is visible before its row, a NULL that is chosen, and state that differs afterwards.
Cannot catch what is wrong row by row too; the oracles are for that.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.sqltypes import BIGINT, STRING, row_of
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.kernels.accumulators import chosen_rows
from fsql.runtime.kernels.accumulators.chosen_rows import ChosenRow
from fsql.runtime.kernels.keyed.steps import steps_of

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType

SLOTS = 6
TYPES = (BIGINT, STRING, row_of((("a", BIGINT), ("b", STRING))))


def drawn_value(random: Random, sql_type: SqlType) -> Any:
    if random.random() < 0.4:
        return None
    if sql_type.fields:
        return tuple(drawn_value(random, each) for each in sql_type.field_types)
    return random.randrange(5) if sql_type is BIGINT else random.choice(("", "x", "é"))


@pytest.mark.parametrize("sql_type", TYPES, ids=str)
@pytest.mark.parametrize("function", [AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE])
@pytest.mark.parametrize("seed", range(3))
def test_many_rows_are_chosen_from_as_one_by_one(
    seed: int, function: AggregateFunction, sql_type: SqlType, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    argument = ColumnRef(sql_type, nullable=True, index=0)
    call = AggregateCall(function, argument, sql_type, nullable=True)
    at_once, one_by_one = ChosenRow(call), ChosenRow(call)
    for each in (at_once, one_by_one):
        each.grow(SLOTS)
    for _ in range(20):
        count = random.randint(1, 12)
        slot = np.array(sorted(random.randrange(SLOTS) for _ in range(count)), np.int64)
        values = to_arrow([drawn_value(random, sql_type) for _ in range(count)], sql_type)
        starts = [
            row
            for row in range(count)
            if row == 0 or slot[row] != slot[row - 1] or random.random() < 0.6
        ]
        steps = steps_of(slot, np.array(starts, np.int64))
        seen = []
        for few, each in ((0, at_once), (count, one_by_one)):
            monkeypatch.setattr(chosen_rows, "FEW_ROWS", few)
            seen.append(from_arrow(each.add(values, None, steps).array, sql_type))
        assert seen[0] == seen[1]
        every = np.arange(SLOTS)
        assert at_once.save(every) == one_by_one.save(every)
