"""Programs in Python: what the oracle says, on every way and from snapshots.

Catches events in another order than the total one, states that a snapshot or an undo loses, rows that go to
another event, states of one key that are seen by another, and events whose failure changes the state.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fsql import program
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


class InOrder:
    """The numbers as digits in the order of the events, and as many rows as the number says."""

    def init(self) -> int:
        """Return no digits."""
        return 0

    def update(self, digits: int, tag: Any, row: dict[str, Any]) -> tuple[int, Iterator[Any]]:
        """Append a digit."""
        number = row["b"] or 0
        if number == 5:
            raise ValueError(number)
        digits = (digits * 7 + number + len(str(tag))) % 1_000_003
        return digits, ((digits, row["moment"], place) for place in range(number % 3))

    def depends(self, tag: Any, other: Any) -> bool:
        """Return whether the tags have one key."""
        return tag == other


COLUMNS = ["digits BIGINT", "moment TIMESTAMP", "place BIGINT"]
Alone = program(state="BIGINT", columns=COLUMNS, tag="STRING")(type("Alone", (InOrder,), {}))


@program(state="MAP<STRING, BIGINT>", columns=COLUMNS, tag="ROW<k STRING, side INT>", key=["k"])
class ByKey(InOrder):
    """Digits by the side of the events, in a state that is changed in place, by key."""

    def init(self) -> Any:
        """Return no digits."""
        return {}

    def update(self, digits: Any, tag: Any, row: dict[str, Any]) -> Any:
        """Append a digit to those of the side, also where the event fails."""
        side = str(tag["side"])
        before = digits.get(side, 0)
        digits[side] = before + 1
        digits[side], rows = super().update(before, tag, row)
        return digits, rows


FUNCTIONS = {each.__name__: each for each in (Alone, ByKey)}
TABLES = """
CREATE TABLE t (k STRING, b BIGINT, moment TIMESTAMP,
    WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE u (b INT, moment TIMESTAMP, WATERMARK FOR moment
) WITH ('connector' = 'file', 'path' = 'u.jsonl');
CREATE PROGRAM alone AS 'm:Alone' LANGUAGE PYTHON;
CREATE PROGRAM by_key AS 'm:ByKey' LANGUAGE PYTHON;
"""
SINK = "digits BIGINT, moment TIMESTAMP, place BIGINT"
QUERIES = (
    (SINK, "SELECT digits, moment, place FROM RUN(alone, TABLE t, TABLE u, TAG => k)"),
    (SINK, "SELECT * FROM RUN(by_key, TABLE t, TABLE u, TAG => (k, CASE WHEN b > 2 THEN 1 END))"),
    (
        SINK,
        (
            "SELECT r.* FROM RUN(by_key, TABLE (SELECT k, b, moment FROM t WHERE b <> 5),"
            " TAG => ROW(k, 0)) AS r WHERE place < 1"
        ),
    ),
    (
        SINK,
        (
            "SELECT * FROM RUN(alone, TABLE (SELECT t.k, u.b, u.moment FROM t JOIN u ON t.b = u.b AND"
            " t.moment BETWEEN u.moment - INTERVAL '2' SECOND AND u.moment), TAG => 'one')"
        ),
    ),
)


def load(entry: str, zone: str) -> PythonFunction | LoadedAggregate | LoadedProgram:
    """Return a program of this module."""
    return function_of(FUNCTIONS[entry.partition(":")[2]], entry, "digest", zone)


def case_of(seed: int) -> Case:
    random = Random(f"program {seed}")
    text = TABLES
    columns, query = QUERIES[seed % len(QUERIES)]
    text += (
        f"CREATE TABLE s ({columns}) WITH ('connector' = 'blackhole');\nINSERT INTO s {query};\n"
    )
    job = bind(parse_script(SourceText("programs", text)), DECLARED, {}, Surroundings(load)).job
    verify_logical(job)
    inputs: dict[int, Splits] = {0: [[] for _ in range(random.choice((1, 2)))], 1: [[]]}
    clock = 3 * SECOND
    for _ in range(random.choice((1, 6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
        number = random.choice((None, 1, 2, 3, 4, 2, 5 if seed % 3 == 1 else 4))
        if random.random() < 0.4:
            inputs[1][0].append((number, clock))
        else:
            moment = clock - random.choice((0, 0, SECOND, 2 * SECOND))
            random.choice(inputs[0]).append((random.choice(("a", "b", "", None)), number, moment))
    return Case(f"program {seed}", text, job, inputs)


@pytest.mark.slow
def test_programs_agree_with_the_oracle() -> None:
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
    assert codes[508], "no program raised"
