"""Table and aggregate functions in Python: what the oracle says, on every way and from snapshots.

Catches accumulators that are lost by a snapshot or an undo, rows that are accumulated in another order than
the total one, retractions that are not netted, and rows of a table function that go to another row.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql import udaf, udf, udtf
from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.surroundings import Surroundings
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.job.functions import function_of
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.functions.python_aggregates import LoadedAggregate
    from fsql.compiler.functions.python_functions import PythonFunction
    from fsql.compiler.functions.python_programs import LoadedProgram
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
SEEDS = 8


@udf(["BIGINT"], "BIGINT")
def halved(number: int) -> int:
    """Return half of an even number."""
    if number % 2:
        raise ValueError(number)
    return number // 2


@udtf(["STRING", "BIGINT"], ["letter STRING", "place BIGINT"])
def letters(text: str, first: int) -> Iterator[tuple[str, int]]:
    """Yield the letters of a text."""
    yield from zip(text, range(first, first + len(text)), strict=True)


@udaf(["BIGINT", "BIGINT"], "BIGINT", state="BIGINT")
class Digits:
    """The numbers as digits, in the order of the rows: not commutative, and without `retract`."""

    def create_accumulator(self) -> int:
        """Return no digits."""
        return 0

    def accumulate(self, digits: int, number: int, weight: int) -> int:
        """Append a digit."""
        return (digits * 7 + number * weight) % 1_000_003

    def get_value(self, digits: int) -> int:
        """Return the digits."""
        return digits


@udaf(["BIGINT"], "BIGINT", state="BIGINT")
class Squares:
    """The sum of squares, which fails where it is 25 or so."""

    def create_accumulator(self) -> int:
        """Return nothing."""
        return 0

    def accumulate(self, total: int, number: int) -> int:
        """Add a square."""
        return total + number * number

    def retract(self, total: int, number: int) -> int:
        """Take out a square."""
        return total - number * number

    def get_value(self, total: int) -> int:
        """Return the sum."""
        if total == 26:
            raise ValueError(total)
        return total


FUNCTIONS = {each.__name__: each for each in (halved, letters, Digits, Squares)}
TABLES = """
CREATE TABLE t (k STRING, b BIGINT, moment TIMESTAMP,
    WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE FUNCTION halved AS 'm:halved' LANGUAGE PYTHON;
CREATE FUNCTION letters AS 'm:letters' LANGUAGE PYTHON;
CREATE AGGREGATE FUNCTION digits AS 'm:Digits' LANGUAGE PYTHON;
CREATE AGGREGATE FUNCTION squares(n BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'm:Squares';
"""
QUERIES = (
    ("k STRING, x BIGINT, y BIGINT", "SELECT k, digits(b, 2), squares(b) FROM t GROUP BY k"),
    (
        "x BIGINT, y BIGINT",
        (
            "SELECT digits(n, b) FILTER (WHERE b > 0), squares(n) FROM"
            " (SELECT b, COUNT(*) AS n FROM t GROUP BY b)"
        ),
    ),
    (
        "e TIMESTAMP, k STRING, x BIGINT, y BIGINT",
        (
            "SELECT window_end, k, squares(b), digits(b, 1)"
            " FROM HOP(t, moment, INTERVAL '2' SECOND, INTERVAL '4' SECOND)"
            " GROUP BY window_start, window_end, k"
        ),
    ),
    (
        "k STRING, x BIGINT, y BIGINT",
        (
            "SELECT k, digits(b, 1) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING),"
            " squares(b) OVER (PARTITION BY k ORDER BY moment ROWS 2 PRECEDING) FROM t"
        ),
    ),
    (
        "x BIGINT, y BIGINT",
        "SELECT digits(b, 3) OVER (ORDER BY moment RANGE INTERVAL '2' SECOND PRECEDING), b FROM t",
    ),
    (
        "k STRING, x STRING, y BIGINT",
        "SELECT k, letter, p FROM t CROSS JOIN LATERAL TABLE(letters(k, b)) AS l (letter, p)",
    ),
    (
        "k STRING, x STRING, y BIGINT",
        "SELECT k, letter, squares(place) FROM t LEFT JOIN LATERAL letters(k, b) ON TRUE GROUP BY k, letter",
    ),
    (
        "k STRING, x BIGINT",
        "SELECT k, x FROM t CROSS JOIN LATERAL (SELECT squares(place) AS x FROM letters(k, b))",
    ),
    ("b BIGINT, x BIGINT", "SELECT b, halved(b) FROM t WHERE b <> 3"),
    (
        "k STRING, x STRING",
        "SELECT k, STRING_AGG(k, '-') OVER (PARTITION BY b ROWS UNBOUNDED PRECEDING) FROM t",
    ),
)


def load(entry: str, zone: str) -> PythonFunction | LoadedAggregate | LoadedProgram:
    """Return a function of this module."""
    return function_of(FUNCTIONS[entry.partition(":")[2]], entry, "digest", zone)


def case_of(seed: int) -> Case:
    random = Random(f"python {seed}")
    text = TABLES
    chosen = [QUERIES[(seed + 3 * place) % len(QUERIES)] for place in range(3)]
    for number, (columns, query) in enumerate(chosen):
        text += f"CREATE TABLE s{number} ({columns}) WITH ('connector' = 'blackhole');\n"
        text += f"INSERT INTO s{number} {query};\n"
    job = bind(parse_script(SourceText("python", text)), DECLARED, {}, Surroundings(load)).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 3 * SECOND
    for _ in range(random.choice((1, 6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
        row = (
            random.choice(("a", "b", "ab", "", None)),
            random.choice((None, 2, 4, 6, 4, 3 if seed % 4 else 5)),
            clock - random.choice((0, 0, SECOND, 2 * SECOND)),
        )
        random.choice(splits).append(row)
    return Case(f"python {seed}", text, job, {0: splits})


@pytest.mark.slow
def test_functions_in_python_agree_with_the_oracle() -> None:
    met: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    for seed in range(SEEDS):
        case = case_of(seed)
        outcome = case.expected
        met.update(check(case, schedules=1))
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        codes[0 if outcome.error is None else outcome.error[0]] += 1
        met.update(query for _, query in QUERIES if query in case.text)
    assert all(met[query] for _, query in QUERIES), met
    assert met["rows restored"]
    assert met["something released"] > SEEDS // 2
    assert codes[0] > SEEDS // 2
    assert codes[508], "no function raised"
