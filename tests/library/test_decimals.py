"""DECIMALs of any scales are compared, joined and brought together, also where no type has both."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import fsql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TYPES = ("DECIMAL(38, 2)", "DECIMAL(38, 6)", "DECIMAL(38, 38)", "DECIMAL(20, 18)", "BIGINT")
OPERATORS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
TEXTS = (
    "0",
    "0.5",
    "-0.5",
    "1",
    "-1",
    "2.5",
    "2.500001",
    "0.00000000000000000000000000000000000001",
    "123456789012345678901234567890123456",
    "-123456789012345678901234567890123456",
    "99999999999999999999999999999999.999999",
)


def values_of(type_: str) -> list[Decimal]:
    """Return the numbers of TEXTS that the type has."""
    digits, _, scale = type_.removeprefix("DECIMAL(").removesuffix(")").partition(", ")
    places = 0 if type_ == "BIGINT" else int(scale)
    whole = 18 if type_ == "BIGINT" else int(digits) - places
    numbers = [Decimal(text) for text in TEXTS]
    return [
        number
        for number in numbers
        if abs(number) < 10**whole and -int(number.as_tuple().exponent) <= places
    ]


def rows(query: str) -> Sequence[dict[str, object]]:
    """Return the rows of a query at the end."""
    found: list[dict[str, object]] = fsql.sql(query).table().to_pylist()
    return found


def table(name: str, type_: str, numbers: Sequence[Decimal | None]) -> str:
    """Return a common table with the numbers, and NULL."""
    texts = (
        f"(CAST({'NULL' if each is None else repr(str(each))} AS {type_}))" for each in numbers
    )
    return f"{name} (v) AS (VALUES {', '.join(texts)})"


@pytest.mark.parametrize("left", TYPES)
@pytest.mark.parametrize("right", TYPES)
def test_comparisons_and_joins_are_exact(left: str, right: str) -> None:
    lefts, rights = values_of(left), values_of(right)
    given = f"WITH {table('a', left, [*lefts, None])}, {table('b', right, [*rights, None])}"
    columns = ", ".join(
        f"a.v {operator} b.v AS c{index}" for index, operator in enumerate(OPERATORS)
    )
    found = rows(f"{given} SELECT a.v AS a, b.v AS b, {columns} FROM a, b")
    assert len(found) == (len(lefts) + 1) * (len(rights) + 1)
    for row in found:
        a, b = (None if row[side] is None else Decimal(str(row[side])) for side in "ab")
        expected = [None if a is None or b is None else test(a, b) for test in OPERATORS.values()]
        assert [row[f"c{index}"] for index in range(len(OPERATORS))] == expected, row

    def numbers(query: str) -> list[str]:
        return sorted(str(Decimal(str(row["v"]))) for row in rows(f"{given} {query}"))

    def same(expected: Sequence[Decimal], query: str) -> None:
        assert numbers(query) == sorted(
            str(Decimal(str(rows(f"SELECT CAST('{each}' AS {left}) AS v")[0]["v"])))
            for each in expected
        )

    both = [each for each in lefts if each in rights]
    others = [each for each in lefts if each not in rights]
    same(both, "SELECT a.v FROM a JOIN b ON a.v = b.v")
    same(both, "SELECT v FROM a WHERE v IN (SELECT v FROM b)")
    same(both, "SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.v = a.v)")
    same(others, "SELECT v FROM a WHERE v NOT IN (SELECT v FROM b WHERE v IS NOT NULL)")
    same(
        others,
        "SELECT v FROM (SELECT v, v IN (SELECT v FROM b WHERE v IS NOT NULL) AS i FROM a) WHERE NOT i",
    )
    same(
        others,
        "SELECT a.v FROM a LEFT JOIN b ON a.v IS NOT DISTINCT FROM b.v"
        " WHERE b.v IS NULL AND a.v IS NOT NULL",
    )


def test_values_brought_together_keep_their_fractions() -> None:
    a, b, c = (f"CAST(1 AS DECIMAL(38, {scale}))" for scale in (2, 6, 0))
    forms = {
        "coalesced": f"COALESCE({a}, {b})",
        "chosen": f"CASE WHEN TRUE THEN {a} ELSE {b} END",
        "compared": f"CASE {a} WHEN {b} THEN {c} ELSE {b} END",
        "greatest": f"GREATEST({c}, {a}, {b})",
        "least": f"LEAST({a}, {b}, {c})",
        "array": f"ARRAY[{a}, {b}, {c}][1]",
        "map": f"MAP['a', {a}, 'b', {b}]['a']",
        "either": f"IF(TRUE, {a}, {b})",
        "kept": f"NULLIF({b}, {a} + 1)",
    }
    (row,) = rows(f"SELECT {', '.join(f'{form} AS {name}' for name, form in forms.items())}")
    assert row == dict.fromkeys(forms, Decimal("1.000000"))
    assert {str(value) for value in row.values()} == {"1.000000"}
    united = rows(f"SELECT {a} AS v UNION ALL SELECT {b}")
    assert [str(each["v"]) for each in united] == ["1.000000", "1.000000"]
    assert rows(f"SELECT {a} AS v INTERSECT SELECT {b}") == [{"v": Decimal(1)}]
    values = rows(f"SELECT * FROM (VALUES ({a}), ({b}), (0.0000001)) AS t(v)")
    assert [str(each["v"]) for each in values] == ["1.0000000", "1.0000000", "1E-7"]


def test_a_number_without_a_common_type_is_no_other_number() -> None:
    with pytest.raises(fsql.DataError, match="E502"):
        rows(
            "SELECT COALESCE(a, b) AS x FROM (VALUES (CAST('1e35' AS DECIMAL(38, 2)),"
            " CAST(1 AS DECIMAL(38, 6)))) AS t(a, b)"
        )


def test_a_total_is_compared_with_a_part_of_it() -> None:
    parts = [{"k": 1, "n": 3, "cost": Decimal("2.50")}, {"k": 2, "n": 1, "cost": Decimal("0.00")}]
    found = fsql.sql(
        "SELECT k, SUM(c * n) AS v FROM (SELECT k, n, CAST(cost AS DECIMAL(12, 2)) AS c FROM parts)"
        " GROUP BY k HAVING SUM(c * n) > (SELECT SUM(CAST(cost AS DECIMAL(12, 2)) * n) * 0.0001"
        " FROM parts)",
        tables={"parts": parts},
    )
    assert found.table().to_pylist() == [{"k": 1, "v": Decimal("7.50")}]
