"""Plans and input for the oracle's tests, built by hand.

Times are in seconds here and microseconds in the plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Call,
    ColumnRef,
    Literal,
)
from fsql.compiler.logical import Changes, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    STRING,
    TIMESTAMP,
    array_of,
)
from fsql.tests.reference.oracle import evaluate_job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.logical import Plan
    from fsql.compiler.sqltypes import SqlType
    from fsql.tests.reference.oracle import Inputs, OracleResult

SECOND = 1_000_000
EARLY = -(2**63) + 1

CLICKS = Table(
    "clicks",
    0,
    (
        Column("user", STRING),
        Column("n", BIGINT),
        Column("at", TIMESTAMP, nullable=False, time_attribute=True),
    ),
    (("on_error", "reject"),),
    TimeKind.EVENT,
    ColumnRef(TIMESTAMP, nullable=False, index=2),
    delay_us=2 * SECOND,
)
WORDS = Table(
    "words",
    0,
    (Column("word", STRING), Column("n", BIGINT), Column("parts", array_of(BIGINT))),
    (),
    TimeKind.OFFSET,
)
WORD, WORD_N, PARTS = (
    ColumnRef(column.type, nullable=True, index=index) for index, column in enumerate(WORDS.columns)
)
USER, CLICK_N = WORD, WORD_N
COUNT = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def aggregate(name: str, argument: Expression, type_: SqlType) -> AggregateCall:
    return AggregateCall(AggregateFunction(name), argument, type_, nullable=True)


def call(function: str, type_: SqlType, *arguments: Expression) -> Call:
    return Call(type_, nullable=True, function=function, arguments=arguments)


def integer(value: int) -> Literal:
    return Literal(BIGINT, nullable=False, value=value)


def job_of(
    *queries: Plan, changes: Changes = Changes.RETRACT, key: tuple[int, ...] | None = None
) -> logical.Job:
    """Insert each query into a sink with its columns."""
    return logical.Job(
        tuple(
            logical.Insert(
                logical.SinkTable(f"sink_{number}", query.schema, (), changes, key), query
            )
            for number, query in enumerate(queries)
        )
    )


def evaluate(job: logical.Job, inputs: Inputs) -> OracleResult:
    """Evaluate in both ways, which must agree."""
    result = evaluate_job(job, inputs)
    assert evaluate_job(job, inputs, literal=True) == result
    return result


def released(result: OracleResult, insert: int = 0) -> list[str]:
    return [line for _, line in result.released[insert]]


def words(*rows: str) -> Inputs:
    """Return one split with a row for each string `word n`."""
    return {0: [[(*_word_and_number(row), None) for row in rows]]}


def _word_and_number(row: str) -> tuple[str | None, int | None]:
    word, number = (None if part == "-" else part for part in row.split())
    return word, None if number is None else int(number)


def clicks(*splits: Sequence[str]) -> Inputs:
    """Return splits with a row for each string `user n second`."""
    return {0: [[_click(row) for row in split] for split in splits]}


def _click(row: str) -> tuple[Value, ...]:
    user, number, second = row.split()
    return (None if user == "-" else user, int(number), round(float(second) * SECOND))


def windowed(
    size: int, slide: int, *, final: bool = True, table: Table = CLICKS, offset: int = 0
) -> logical.WindowAggregate:
    """Return user, window_end, COUNT(*), SUM(n) of windows over `table`."""
    windows = logical.AssignWindows(
        logical.Scan(table, 0), 2, size * SECOND, slide * SECOND, offset * SECOND
    )
    return logical.WindowAggregate(
        windows,
        (USER, ColumnRef(TIMESTAMP, nullable=False, index=4)),
        ("user", "window_end"),
        (COUNT, aggregate("SUM", CLICK_N, BIGINT)),
        ("count", "sum"),
        window_end=4,
        final=final,
    )


SCAN = logical.Scan(WORDS, 0)
WORD_COUNT = logical.Aggregate(
    SCAN, (WORD,), ("word",), (COUNT, aggregate("SUM", WORD_N, BIGINT)), ("count", "sum")
)


def with_parts(*parts: tuple[int | None, ...] | None) -> Inputs:
    return {0: [[("w", 0, part) for part in parts]]}
