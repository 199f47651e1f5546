"""Cases of all pairs of types: comparisons, arithmetic, branches, set operations and joins."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from fsql.tests.published.files import PublishedCase

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS: Final = {
    "integer": "CAST(id AS INTEGER)",
    "bigint": "salary",
    "decimal": "bonus",
    "fine": "CAST(bonus AS DECIMAL(12, 4))",
    "double": "CAST(salary AS DOUBLE) / 8",
}
TIMES: Final = {
    "date": "hired",
    "timestamp": "CAST(hired AS TIMESTAMP)",
    "instant": "TIMESTAMP '2021-01-01 00:00:00'",
}
WORDS: Final = {
    "text": "name",
    "short": "SUBSTRING(name FROM 1 FOR 1)",
    "literal": "'Cy'",
    "null": "CAST(NULL AS VARCHAR)",
}
COMPARISONS: Final = {
    "comparison": "SELECT id, {a} = {b} AS v, {a} < {b} AS w, {a} <> {b} AS x FROM staff",
    "filter": "SELECT id FROM staff WHERE {a} >= {b}",
    "distinct": "SELECT id FROM staff WHERE {a} IS DISTINCT FROM {b}",
    "list": "SELECT id FROM staff WHERE {a} IN ({b}, {a})",
    "range": "SELECT id FROM staff WHERE {a} BETWEEN {b} AND {a}",
    "nullif": "SELECT id, NULLIF({a}, {b}) AS x FROM staff",
}
BRANCHES: Final = {
    "coalesce": "SELECT id, COALESCE({a}, {b}) AS x FROM staff",
    "case": "SELECT id, CASE WHEN id < 5 THEN {a} ELSE {b} END AS x FROM staff",
    "union": "SELECT x FROM (SELECT {a} AS x FROM staff UNION SELECT {b} FROM staff) t",
    "except": "SELECT {a} AS x FROM staff EXCEPT SELECT {b} FROM staff WHERE id > 3",
    "join": (
        "SELECT l.id, r.id AS other FROM (SELECT id, {a} AS x FROM staff) l"
        " JOIN (SELECT id, {b} AS x FROM staff) r ON l.x = r.x"
    ),
    "subquery": "SELECT id FROM staff WHERE {a} IN (SELECT {b} FROM staff)",
}
ARITHMETIC: Final = {
    "sum": "SELECT id, {a} + {b} AS x, {a} - {b} AS y FROM staff",
    "product": "SELECT id, {a} * {b} AS x FROM staff",
}


def generated_cases() -> Iterator[PublishedCase]:
    """Yield a case for each pair of types and each form that takes two values of them."""
    for types, forms in [
        (NUMBERS, COMPARISONS | BRANCHES | ARITHMETIC),
        (TIMES, COMPARISONS | BRANCHES),
        (WORDS, COMPARISONS | BRANCHES),
    ]:
        for (form, text), (a, left), (b, right) in product(
            forms.items(), types.items(), types.items()
        ):
            query = text.format(a=left, b=right)
            yield PublishedCase(f"{form}:{a}:{b}", query, query)
