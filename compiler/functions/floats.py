"""FLOAT: floating-point numbers of 32 bits, as Python's floats that are such numbers.

Every operation is that of DOUBLE, rounded to the nearest FLOAT.  A text is read as a DOUBLE first.
"""

from __future__ import annotations

import math
import struct
from decimal import Context, Decimal
from typing import Final

_FLOAT: Final = struct.Struct("<f")
_LEAST_NORMAL: Final = 2.0**-126
_DIGITS_ENOUGH: Final = 6
"""Normal FLOATs distinguish all decimals with this many digits."""
_DIGITS_MAX: Final = 9
"""This many digits distinguish all FLOATs."""
_EXACT_BITS: Final = 53
_KEPT_BITS: Final = 30


def to_float(value: float) -> float:
    """Return the nearest FLOAT, an infinity beyond the greatest.

    >>> to_float(0.1), to_float(1e39)
    (0.10000000149011612, inf)
    """
    try:
        (nearest,) = _FLOAT.unpack(_FLOAT.pack(value))
    except OverflowError:
        return math.copysign(math.inf, value)
    assert isinstance(nearest, float)
    return nearest


def integer_to_float(value: int) -> float:
    """Return the FLOAT nearest to an integer, which is not always that nearest to its DOUBLE."""
    excess = value.bit_length() - _KEPT_BITS
    if value.bit_length() > _EXACT_BITS:
        # What is cut off counts as one more bit, so that a DOUBLE holds the number and it rounds alike.
        value = (value >> excess | bool(value & (1 << excess) - 1)) << excess
    return to_float(float(value))


def shortest_double(value: float) -> float:
    """Return the DOUBLE with the fewest digits whose nearest FLOAT is `value`: 0.1 for the FLOAT 0.1.

    A FLOAT is written as this DOUBLE is.
    """
    if value == 0.0 or not math.isfinite(value):
        return value
    magnitude = abs(value)
    fewest = _DIGITS_ENOUGH if magnitude >= _LEAST_NORMAL else 1
    found = next(filter(None, (_short(magnitude, each) for each in range(fewest, _DIGITS_MAX + 1))))
    return math.copysign(found, value)


def _short(magnitude: float, digits: int) -> float | None:
    """Return a decimal with this many digits whose nearest FLOAT is `magnitude`, if there is one.

    It is the nearest decimal, but of a power of two, from which the next FLOAT is farther above than below,
    it may be the one above.
    """
    nearest = f"{magnitude:.{digits}g}"
    if to_float(float(nearest)) == magnitude:
        return float(nearest)
    above = float(Context(prec=digits).next_plus(Decimal(nearest)))
    return above if to_float(above) == magnitude else None
