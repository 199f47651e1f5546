"""Changes below a position that move to it are one group there, whose sum is that of the changes."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.compiler.tick_plan import SinkPort
from fsql.runtime.batch import END, Batch, Root
from fsql.runtime.dataflow import sink_gate
from fsql.runtime.dataflow.sink_gate import SinkGate
from fsql.tests.seeds import chosen_seeds

COLUMNS = (Column("k", STRING), Column("n", BIGINT))
PORT = SinkPort(
    SinkTable("s", COLUMNS, (), Changes.RETRACT, (0,)),
    append_only=False,
    may_tie=False,
    depth=1,
    consolidated=True,
)
POSITION = Root(50, 3)


def batch(rows: list[tuple[str, int, int, int]]) -> Batch:
    keys, numbers, times, weights = zip(*rows, strict=True)
    none = np.zeros(len(rows), np.int64)
    columns = [pa.array(keys), pa.array(numbers)]
    return Batch(columns, np.array(times), none, (none,), np.array(weights))


@pytest.mark.parametrize("least", [0, 8, 1 << 16])
def test_the_sum_is_released_at_the_position(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_gate, "_MOVING_MIN", least)
    for seed in chosen_seeds(20):
        random = Random(f"moving {seed}")
        gate = SinkGate(PORT, None, POSITION)
        there: Counter[tuple[str, int]] = Counter()
        most = 0
        for _ in range(30):
            rows = []
            for _ in range(random.randrange(1, 9)):
                row = random.choice("abc"), random.randrange(3)
                weight = -1 if there[row] and random.random() < 0.6 else 1
                there[row] += weight
                rows.append((*row, random.randrange(50), weight))
            gate.accept(batch(rows), repairs=False)
            most = max(most, gate.rows_buffered())
            assert gate.release(Root(50, 3)) is None
        gate.accept(batch([("d", 1, 50, 1), ("d", 2, 51, 1)]), repairs=False)
        # A row of the same time before the position moves; one of a later time stays where it is.
        there["d", 1] += 1
        release = gate.release(END)
        assert release is not None
        columns = [column.to_pylist() for column in release.columns]
        roots = [*zip(release.time.tolist(), release.origin.tolist(), strict=True)]
        *moved, last = [*zip(*columns, strict=True)]
        assert Counter(moved) == +there
        assert set(roots[:-1]) == {POSITION}
        assert (last, roots[-1]) == (("d", 2), (51, 0))
        assert least > 8 or most <= 2 * (least + 9 + 8), "rows that cancel are added up"
