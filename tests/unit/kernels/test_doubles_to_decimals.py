"""DOUBLE to DECIMAL over columns, against Python's decimals: shortest texts, rounded half away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from random import Random

import numpy as np
import pytest

from fsql.compiler.sqltypes import DOUBLE, decimal_type
from fsql.runtime.kernels.expressions.functions_decimal import decimal_cast
from fsql.runtime.kernels.expressions.vectors import OUT_OF_RANGE, Vector

WIDE = Context(prec=400)


def doubles(random: Random, scale: int) -> list[float]:
    """Return doubles of all sizes, many of them beside the middle between two decimals."""
    unit = 10**scale
    middles = [(random.randrange(10 ** random.randrange(1, 16)) + 0.5) / unit for _ in range(300)]
    others = [random.uniform(-1, 1) * 10.0 ** random.randrange(-6, 22) for _ in range(300)]
    products = [0.908 * random.randrange(10**7) for _ in range(300)]
    beside = [np.nextafter(each, random.choice((0.0, 1e30))) for each in middles]
    signed = [each * random.choice((1, -1)) for each in (*middles, *beside, *products)]
    return [
        float(each)
        for each in (*signed, *others, 0.0, -0.0, 5e-324, 1e300, float("nan"), float("inf"))
    ]


@pytest.mark.parametrize("scale", [0, 1, 3, 9, 18, 22, 23, 30])
def test_doubles_are_rounded_by_their_shortest_texts(scale: int) -> None:
    values = doubles(Random(scale), scale)
    made = decimal_cast(DOUBLE, decimal_type(38, scale))([Vector(np.array(values))])
    failed = np.zeros(len(values), np.int16) if made.failed is None else made.failed
    for value, decimal, code in zip(values, made.values.tolist(), failed.tolist(), strict=True):
        text = Decimal(repr(value))
        if not text.is_finite():
            assert code == OUT_OF_RANGE
            continue
        rounded = text.scaleb(scale, WIDE).quantize(Decimal(1), ROUND_HALF_UP, WIDE)
        if abs(rounded) >= 10**38:
            assert code == OUT_OF_RANGE
        else:
            assert (decimal, code) == (int(rounded), 0)
