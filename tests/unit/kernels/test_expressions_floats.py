"""Numbers of 32 bits: how they are rounded and written."""

from __future__ import annotations

import math

import numpy as np

from fsql.compiler.functions.floats import integer_to_float, shortest_double
from fsql.compiler.sqltypes import BIGINT, FLOAT, SMALLINT, TINYINT
from fsql.runtime.arrow_types import nearest_floats, shortest_doubles
from fsql.tests.unit.kernels.tables import call, check_table, fails

E502 = fails(502)
GREATEST = 3.4028234663852886e38


def test_an_integer_is_rounded_once() -> None:
    for power in range(24, 63):
        for step in (-(2**20) - 1, -1, 0, 1, 2**9 + 1):
            value = 2**power + 2 ** (power - 24) + step
            expected = float(np.array([value], np.int64).astype(np.float32)[0])
            assert integer_to_float(value) == expected
            assert integer_to_float(-value) == -expected


def test_every_number_is_written_with_the_fewest_digits() -> None:
    ends = np.array([2.0**power for power in range(-149, 128)] + [0.1, 0.3, -1e-40, GREATEST, 0.0])
    drawn = np.random.default_rng(7).integers(0, 2**32, 3000, np.uint32).view(np.float32)
    drawn = drawn[np.isfinite(drawn)]
    values = np.concatenate([nearest_floats(ends), drawn.astype(np.float64)])
    expected = [float(str(np.float32(value))) for value in values]
    np.testing.assert_array_equal(shortest_doubles(values), expected)
    np.testing.assert_array_equal([*map(shortest_double, values.tolist())], expected)


def test_arithmetic_is_rounded() -> None:
    tenth = 0.10000000149011612
    check_table(
        call("add", FLOAT),
        [FLOAT, FLOAT],
        [((16777216.0, 1.0), 16777216.0), ((tenth, tenth), 0.20000000298023224)],
    )
    check_table(call("multiply", FLOAT), [FLOAT, FLOAT], [((GREATEST, 2.0), math.inf)])
    check_table(call("divide", FLOAT), [FLOAT, FLOAT], [((1.0, 3.0), 0.3333333432674408)])
    check_table(
        call("modulo", FLOAT), [FLOAT, FLOAT], [((-5.5, 2.0), -1.5), ((1.0, 0.0), math.nan)]
    )


def test_small_integers_out_of_range_fail() -> None:
    check_table(
        call("add", SMALLINT),
        [SMALLINT, SMALLINT],
        [((32_767, 0), 32_767), ((32_767, 1), E502), ((-32_768, -1), E502)],
    )
    check_table(
        call("multiply", TINYINT),
        [TINYINT, TINYINT],
        [((11, 11), 121), ((-16, 8), -128), ((16, 8), E502)],
    )
    check_table(call("divide", TINYINT), [TINYINT, TINYINT], [((-128, -1), E502), ((-7, 2), -3)])
    check_table(call("negate", SMALLINT), [SMALLINT], [((-32_768,), E502), ((5,), -5)])
    check_table(call("modulo", BIGINT), [BIGINT, BIGINT], [((-7, 2), -1)])
