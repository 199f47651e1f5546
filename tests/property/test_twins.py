"""Few rows and many rows take different code, which no result shows.

`test_ways.py` draws whether twins are used; here the same schedules run with all of them and with none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.tests.property.cases import MAKERS
from fsql.tests.property.twins import AT_THE_EDGE, ROOT, TWINS, modules_with_limits
from fsql.tests.property.ways import Schedule, by_engine
from fsql.tests.seeds import chosen_seeds


def test_all_twins_are_listed() -> None:
    assert set(modules_with_limits()) == {*TWINS, *AT_THE_EDGE}
    assert [name for name in AT_THE_EDGE.values() if not (ROOT / Path(name)).is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "mixed", "plan", "updating-join"])
def test_results_do_not_show_which_twin_computes(kind: str) -> None:
    compared = 0
    for seed in chosen_seeds(5):
        random = Random(seed)
        try:
            case = MAKERS[kind](random, f"{kind} {seed}")
        except FsqlError:
            continue
        few = Schedule(seed, random.choice((1, 2)), random.choice((1, 7, 30)), None)
        outcome, _ = by_engine(case.job, case.inputs, few)
        assert outcome == by_engine(case.job, case.inputs, replace(few, few_rows=False))[0]
        compared += 1
    assert compared
