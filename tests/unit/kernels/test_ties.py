"""Codes that are computed only for rows that tie order rows as the codes of all rows do."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.order import canonical_rank, identity_codes, lexicographic_order, starts_of_runs
from fsql.runtime.ties import tie_breaking_codes


@pytest.mark.parametrize("seed", range(40))
def test_rows_compare_as_by_the_codes_of_all_columns(seed: int) -> None:
    random = Random(seed)
    count, spread = random.choice((1, 20, 200)), random.choice((1, 10, 1000))
    numbers = np.array([random.randrange(spread) for _ in range(count)])
    texts = pa.array([random.choice((None, "a", "b", "B", "")) for _ in range(count)], pa.string())
    lists = pa.array(
        [random.choice((None, [], ["x"])) for _ in range(count)], pa.list_(pa.string())
    )
    for code_of in (canonical_rank, identity_codes):
        whole = [numbers, code_of(texts), code_of(lists)]
        made = tie_breaking_codes([numbers], [texts.dictionary_encode(), lists], code_of)
        orders = [lexicographic_order(codes) for codes in (whole, made)]
        every = [np.arange(count) if order is None else order for order in orders]
        assert every[0].tolist() == every[1].tolist()
        runs = [starts_of_runs(*(code[every[0]] for code in codes)) for codes in (whole, made)]
        assert runs[0].tolist() == runs[1].tolist()
