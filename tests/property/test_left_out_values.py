"""Change events that leave out values, by key: all ways of running a query release the same."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.test_case_queries import rows_of

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits

_DOCS: Final = """
    CREATE TABLE docs (
        k INT, v STRING NOT NULL, r ROW<a STRING, b ROW<c STRING, d INT>>, m MAP<STRING, INT>,
        at TIMESTAMP{watermark}, PRIMARY KEY (k) NOT ENFORCED
    ) WITH (
        'connector' = 'file', 'path' = 'd', 'format' = 'debezium-json', 'on_error' = '{on_error}'{rejects}
    );
    CREATE TABLE q (k INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
        WITH ('connector' = 'file', 'path' = 'q');
"""
_QUERIES: Final = (
    "SELECT * FROM docs;",
    "SELECT k, r.b.c AS c FROM docs;",
    "SELECT v, COUNT(*) AS n, MAX(r.a) AS a FROM docs GROUP BY v;",
    "SELECT q.k, q.at, d.v, d.r, d.m FROM q LEFT JOIN docs FOR SYSTEM_TIME AS OF q.at AS d ON d.k = q.k;",
)


@pytest.mark.parametrize("on_error", ["stop", "reject"])
@pytest.mark.parametrize("query", _QUERIES)
def test_all_ways_release_the_same(query: str, on_error: str) -> None:
    watermark = ", WATERMARK FOR at AS at" if "q.at" in query else ""
    rejects = ", 'rejects_path' = 'r'" if on_error == "reject" else ""
    text = _DOCS.format(on_error=on_error, rejects=rejects, watermark=watermark) + query
    job = compile_script(SourceText("docs", text), DECLARED).logical
    for seed in range(6):
        random = Random(f"{query} {seed}")
        inputs: dict[int, Splits] = {
            table.ordinal: [rows_of(random, table, 10) for _ in range(random.randint(1, 3))]
            for table in job.tables
        }
        check(Case(f"{query} {seed}", text, job, inputs), schedules=2)
