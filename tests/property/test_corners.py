"""Corners that random cases rarely reach, each worked out by hand and run all ways.

What fails first, zeros and NaN as keys, sums that leave the range and come back, times that cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.sqltypes import BIGINT_MAX
from fsql.compiler.text.source import SourceText
from fsql.compiler.tick_plan import Policy
from fsql.connectors.declared import DECLARED
from fsql.tests.property.ways import Outcome, Schedule, by_engine, by_model, by_oracle

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.runtime.ports import DeadLetter

SECOND = 1_000_000


@dataclass(frozen=True)
class Corner:
    """A query over `t (v BIGINT, d DOUBLE, s STRING, a ARRAY<BIGINT>, ts)`, a row a second.

    `lines` are what it releases into `o (x, y)`, whose types are `columns`; or its first row fails with
    the error `code`.
    """

    name: str
    query: str
    rows: tuple[tuple[Value, ...], ...]
    columns: str
    lines: tuple[str, ...] = ()
    code: int | None = None


def failing(name: str, query: str, rows: tuple[tuple[Value, ...], ...], code: int) -> Corner:
    """Return a corner whose first row fails."""
    return Corner(name, query, rows, "x BIGINT, y BIGINT", (), code)


WINDOW = "TUMBLE(t, ts, INTERVAL '10' SECOND) GROUP BY window_end"
LATERAL = "FROM t AS r CROSS JOIN LATERAL (SELECT {} FROM UNNEST(r.a) AS e(x){}) AS l"
BAD_TEXT = ((1, 1.0, "x"),)
ZEROS = ((1, -0.0), (2, 0.0))
CORNERS = (
    Corner(
        "products of deviations may leave the range of DOUBLE",
        f"SELECT CORR(d, -d), window_end FROM {WINDOW}",
        ((1, 1e308), (2, -1e308), (3, 3.0)),
        "x DOUBLE, y TIMESTAMP",
        ('{"x":-1.0,"y":"1970-01-01T00:00:10Z"}',),
    ),
    Corner(
        "a window's sum may leave the range before the window closes",
        f"SELECT window_end, SUM(v) FROM {WINDOW}",
        ((BIGINT_MAX,), (1,), (-5,)),
        "x TIMESTAMP, y BIGINT",
        (f'{{"x":"1970-01-01T00:00:10Z","y":{BIGINT_MAX - 4}}}',),
    ),
    Corner(
        "rows of one position are in the order of their own columns for running aggregates",
        "SELECT s, ARRAY_AGG(n) OVER (ROWS UNBOUNDED PRECEDING) FROM"
        " (SELECT s, SUM(v) AS n FROM TUMBLE(t, ts, INTERVAL '10' SECOND) GROUP BY s, window_end)",
        ((2, 1.0, "a"), (1, 1.0, "b")),
        "x STRING, y ARRAY<BIGINT>",
        ('{"x":"a","y":[2]}', '{"x":"b","y":[2,1]}'),
    ),
    Corner(
        "decimals without a common type are compared as the numbers that they are",
        "SELECT s, CAST(s AS DECIMAL(38, 2)) > CAST(d AS DECIMAL(38, 38)) AS x FROM t"
        " WHERE CAST(s AS DECIMAL(38, 2)) <> CAST(d AS DECIMAL(38, 38))",
        ((1, 0.5, "0.50"), (2, 1e-38, "0"), (3, -0.5, "999999999999999999999999999999999999.99")),
        "x STRING, y BOOLEAN",
        (
            '{"x":"0","y":false}',
            '{"x":"999999999999999999999999999999999999.99","y":true}',
        ),
    ),
    failing(
        "of numbers brought together the one that is too great",
        "SELECT v, CAST(COALESCE(CAST(s AS DECIMAL(38, 2)), CAST(d AS DECIMAL(38, 38)))"
        " AS BIGINT) FROM t",
        ((1, 0.5, "10"),),
        502,
    ),
    Corner(
        "conditions that cannot fail come before those that can",
        "SELECT v, v FROM t WHERE CAST(s AS BIGINT) > 0 AND v > 1 AND 10 / v > 1 AND d IS NOT NULL",
        ((1, 1.0, "x"), (0, 1.0, "1"), (2, None, "x"), (3, 1.0, "3")),
        "x BIGINT, y BIGINT",
        ('{"x":3,"y":3}',),
    ),
    failing(
        "of conditions that can fail the left",
        "SELECT v, v FROM t WHERE v = 1 AND CAST(s AS BIGINT) > 0 AND 1 / (v - 1) > 0",
        BAD_TEXT,
        503,
    ),
    failing("of two expressions the left", "SELECT CAST(s AS BIGINT), v / 0 FROM t", BAD_TEXT, 503),
    failing(
        "of two expressions the left again", "SELECT v / 0, CAST(s AS INT) FROM t", BAD_TEXT, 501
    ),
    failing(
        "of a key and an argument the key",
        "SELECT COUNT(v / 0), CAST(s AS BIGINT) FROM t GROUP BY CAST(s AS BIGINT)",
        BAD_TEXT,
        503,
    ),
    failing(
        "of two arguments the left",
        "SELECT COUNT(CAST(s AS BIGINT)), COUNT(v / 0) FROM t",
        BAD_TEXT,
        503,
    ),
    failing(
        "of a partition and an argument the partition",
        "SELECT v, COUNT(v / 0) OVER (PARTITION BY CAST(s AS INT) ROWS UNBOUNDED PRECEDING) FROM t",
        BAD_TEXT,
        503,
    ),
    failing(
        "of the sides of a join the least",
        "SELECT l.v, r.v FROM t AS l JOIN t AS r ON CAST(l.s AS BIGINT) = r.v / 0",
        BAD_TEXT,
        501,
    ),
    failing(
        "of the elements of an array the least",
        "SELECT r.v, l.n "
        + LATERAL.format(
            "COUNT(CASE WHEN e.x = 1 THEN CAST(r.s AS BIGINT) ELSE 1 / e.x END) AS n", ""
        ),
        ((1, 1.0, "x", (1, 0)),),
        501,
    ),
    failing(
        "of one element the key",
        "SELECT r.v, l.n "
        + LATERAL.format(
            "COUNT(1 / e.x) AS n", " GROUP BY CASE WHEN e.x = 0 THEN CAST(r.s AS INT) END"
        ),
        ((1, 1.0, "x", (0, 5)),),
        503,
    ),
    failing(
        "an argument of a window that is still open",
        f"SELECT 1, SUM(v / 0) FROM {WINDOW}",
        BAD_TEXT,
        501,
    ),
    Corner(
        "an element that is filtered out does not fail",
        "SELECT r.v, l.n " + LATERAL.format("COUNT(1 / e.x) AS n", " WHERE e.x <> 0"),
        ((1, 1.0, "x", (0, 5)),),
        "x BIGINT, y BIGINT",
        ('{"x":1,"y":1}',),
    ),
    Corner(
        "MIN, MAX, SUM and AVG of a negative zero are zero",
        "SELECT MIN(d) + MAX(d), SUM(d) + AVG(d) FROM t",
        ((1, -0.0),),
        "x DOUBLE, y DOUBLE",
        ('{"op":"+I","x":0.0,"y":0.0}',),
    ),
    Corner(
        "ARRAY_AGG keeps the sign of a zero",
        "SELECT COUNT(*), ARRAY_AGG(d) FROM t",
        ZEROS[:1],
        "x BIGINT, y ARRAY<DOUBLE>",
        ('{"op":"+I","x":1,"y":[-0.0]}',),
    ),
    Corner(
        "zeros are one key of a join",
        "SELECT l.v, r.v FROM t AS l JOIN t AS r ON l.d = r.d",
        ZEROS,
        "x BIGINT, y BIGINT",
        ('{"x":1,"y":1}', '{"x":2,"y":1}', '{"x":1,"y":2}', '{"x":2,"y":2}'),
    ),
    Corner(
        "zeros are one partition",
        "SELECT v, COUNT(*) OVER (PARTITION BY d ROWS UNBOUNDED PRECEDING) FROM t",
        ZEROS,
        "x BIGINT, y BIGINT",
        ('{"x":1,"y":1}', '{"x":2,"y":2}'),
    ),
    Corner(
        "NaN is one key",
        "SELECT d / d, COUNT(*) FROM t GROUP BY d / d",
        ZEROS,
        "x DOUBLE, y BIGINT",
        (
            '{"op":"+I","x":"NaN","y":1}',
            '{"op":"-U","x":"NaN","y":1}',
            '{"op":"+U","x":"NaN","y":2}',
        ),
    ),
    Corner(
        "a key is zero from its first row on",
        "SELECT d, COUNT(*) FROM t GROUP BY d",
        ZEROS,
        "x DOUBLE, y BIGINT",
        (
            '{"op":"+I","x":0.0,"y":1}',
            '{"op":"-U","x":0.0,"y":1}',
            '{"op":"+U","x":0.0,"y":2}',
        ),
    ),
    Corner(
        "arrays of zeros are one key",
        "SELECT ARRAY[d], COUNT(*) FROM t GROUP BY ARRAY[d]",
        ZEROS,
        "x ARRAY<DOUBLE>, y BIGINT",
        (
            '{"op":"+I","x":[0.0],"y":1}',
            '{"op":"-U","x":[0.0],"y":1}',
            '{"op":"+U","x":[0.0],"y":2}',
        ),
    ),
    Corner(
        "arrays of NaN are one key of a join",
        "SELECT l.v, r.v FROM t AS l JOIN t AS r ON ARRAY[l.d / l.d] = ARRAY[r.d / r.d]",
        ZEROS[:1],
        "x BIGINT, y BIGINT",
        ('{"x":1,"y":1}',),
    ),
)


def run(corner: Corner, way: str) -> Outcome:
    """Run a corner one way."""
    script = f"""
        CREATE TABLE t (
            v BIGINT, d DOUBLE, s STRING, a ARRAY<BIGINT>, ts TIMESTAMP, WATERMARK FOR ts
        ) WITH ('connector' = 'file', 'path' = 't.jsonl');
        CREATE TABLE o ({corner.columns}) WITH ('connector' = 'blackhole');
        INSERT INTO o {corner.query};
    """
    job = bind(parse_script(SourceText(corner.name, script)), DECLARED).job
    rows: list[tuple[Value, ...] | DeadLetter] = [
        (*row, *(4 - len(row)) * (None,), second * SECOND) for second, row in enumerate(corner.rows)
    ]
    inputs = {0: [rows]}
    match way:
        case "oracle":
            return by_oracle(job, inputs)
        case "model":
            return by_model(job, inputs, seed=1, workers=2)
        case _:
            outcome, _ = by_engine(job, inputs, Schedule(1, 2, 2, Policy(way)))
            return outcome


@pytest.mark.parametrize("way", ["oracle", "model", *(policy.value for policy in Policy)])
@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner.name)
def test_corners(corner: Corner, way: str) -> None:
    outcome = run(corner, way)
    error = None if corner.code is None else (corner.code, (0, 0))
    released = tuple(text for _, text in outcome.released[0])
    assert (outcome.error, released) == (error, corner.lines)
