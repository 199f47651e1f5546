"""Random values: few and small, so that they meet; and those that numbers and texts go wrong on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    DATE_MAX,
    DATE_MIN,
    INT_MAX,
    INT_MIN,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
)
from fsql.tests.reference.scalar_maps import map_from

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

SECOND: Final = 1_000_000
NOON: Final = 1_709_294_400 * SECOND
"""2024-03-01T12:00:00Z in microseconds."""

DOUBLES: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 0.1, 0.2, 0.3, 3.0, 7.25, 1e16, -1e16, 1e-9),
    *(0.49999999999999994, 1e308, -1e308, 1.7976931348623157e308, 5e-324, 2.0**53, 1 / 3),
    *(9007199254740993.0, 9223372036854775807.0, -9223372036854775808.0, 2147483647.5, 1e22),
)
FLOATS: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 0.10000000149011612, 3.4028234663852886e38, 16777216.0),
    *(1.401298464324817e-45, 1.1754943508222875e-38, 0.3333333432674408),
)
NOT_FINITE: Final = (float("nan"), float("inf"), float("-inf"))
STRINGS: Final = (
    *("", "a", "b", "ab", "a,b", "a,b,,a", "A", "é", "straße", " a ", "%", "a%b", "a_b", "\\"),
    *("12", "-3", "+7", " 4 ", "1.5", "1e3", "true", "FALSE", "NaN", "x1", "99999999999999999999"),
    *("12:30", "23:59:59.5", "24:00", "12:30Z", "1:00"),
    *("2024-03-01T12:00:00Z", "2024-02-30 00:00", "2024-02-29", "1970-01-01 00:00:00.5+01:00"),
    *("2024-03-01 12:00:00+0530", "2024-03-01T12:00-01"),
    *('"', "\n\t\x00\x1f", "\u2028\U0001f600", "ǆ", "İ"),
)
INTEGERS: Final = (0, 1, 2, 3, -1, -2, 5, 7, 10, -10, 100)
UNSIGNED: Final = (Kind.UTINYINT, Kind.USMALLINT, Kind.UINT, Kind.UBIGINT)
EDGES: Final = {
    Kind.TINYINT: (127, -128, 126),
    Kind.SMALLINT: (32_767, -32_768, 255),
    Kind.INT: (INT_MAX, INT_MIN, INT_MAX - 1, 2**30),
    Kind.BIGINT: (BIGINT_MAX, BIGINT_MIN, BIGINT_MAX - 1, 2**62, -(2**62), 2**53 + 1, 2**31),
    Kind.UTINYINT: (255, 254, 128),
    Kind.USMALLINT: (65_535, 65_534, 32_768),
    Kind.UINT: (2**32 - 1, 2**32 - 2, 2**31),
    Kind.UBIGINT: (2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1, 2**53 + 1, 2**32),
    Kind.INTERVAL: (BIGINT_MAX, BIGINT_MIN, SECOND, -SECOND, 60 * SECOND),
    Kind.MONTHS: (BIGINT_MAX, BIGINT_MIN, 12, -25, 120_000, -120_000),
    Kind.DATE: (DATE_MAX, DATE_MIN, 0, -1),
    Kind.TIME: (0, 86_399_999_999, 43_200_000_000, 1_500_000, 60_000_001),
    Kind.TIMESTAMP: (TIMESTAMP_MAX, TIMESTAMP_MIN, NOON, NOON + 500_000, -1, NOON + 1),
}


def random_value(  # noqa: PLR0911 - one a kind
    random: Random, type_: SqlType, *, awkward: float = 0.2
) -> Value:
    """Return a value of `type_`; with the probability `awkward` one at an edge, or NULL."""
    odd = random.random() < awkward
    if type_.kind is Kind.NULL or (odd and random.random() < 0.5):
        return None
    if type_.fields:
        return tuple(random_value(random, each, awkward=awkward) for each in type_.field_types)
    if type_.kind is Kind.MAP:
        pairs = [
            (random_value(random, type_.key, awkward=awkward), random_value(random, type_.value))
            for _ in range(random.choice((0, 1, 2, 2, 3)))
        ]
        return map_from(pair for pair in pairs if pair[0] is not None)
    if type_.element is not None:
        element, length = type_.element, random.choice((0, 1, 2, 2, 3, 4))
        return tuple(random_value(random, element, awkward=awkward) for _ in range(length))
    if type_.kind is Kind.TIMESTAMP and not odd:
        return NOON + random.randrange(-20, 60) * (SECOND // 2)
    if type_.kind is Kind.TIME and not odd:
        return random.randrange(24) * 3600 * SECOND
    if type_.kind is Kind.DATE and not odd:
        return NOON // (86_400 * SECOND) + random.randrange(-2, 4)
    if type_.kind is Kind.DECIMAL:
        digits = 10**type_.precision - 1
        edges = (digits, -digits, digits // 2 + 1, 5 * 10 ** (type_.scale // 2))
        return random.choice(edges if odd else [n * 10**type_.scale // 4 for n in INTEGERS[:8]])
    choices: dict[Kind, Sequence[Value]] = {
        Kind.BOOLEAN: (False, True),
        **(dict.fromkeys(UNSIGNED, (0, 1, 2, 3, 5, 7, 10, 100)) if not odd else {}),
        Kind.FLOAT: (*FLOATS, *NOT_FINITE) if odd else FLOATS,
        Kind.DOUBLE: (*DOUBLES, *NOT_FINITE) if odd else DOUBLES[:12],
        Kind.STRING: STRINGS if odd else STRINGS[:8],
        Kind.BYTES: ("", "a", "ab", "\xff", "\x00", "\xc3\xa9", "\x7f\x80", "\0\0\xfe")[
            : 8 if odd else 6
        ],
    }
    return random.choice(choices.get(type_.kind) or (EDGES[type_.kind] if odd else INTEGERS))


def first_never_null(schema: Schema, type_: SqlType) -> int | None:
    """Return the first column of a type that is never NULL."""
    return next((i for i, c in enumerate(schema) if c.type == type_ and not c.nullable), None)
