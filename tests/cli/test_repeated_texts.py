"""Texts of Parquet files that are read with their dictionaries: results do not depend on them."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE readings (sensor STRING, state STRING, n BIGINT, at TIMESTAMP NOT NULL,
    WATERMARK FOR at AS at - INTERVAL '1' SECOND)
WITH ('connector' = 'file', 'path' = '{path}', 'format' = '{format}');
CREATE TABLE rooms (sensor STRING, room STRING, PRIMARY KEY (sensor) NOT ENFORCED)
WITH ('connector' = 'file', 'path' = '{rooms}', 'format' = '{format}', 'changes' = 'upsert');
{query};
"""
QUERIES = (
    """SELECT sensor, window_end, COUNT(*) AS readings, MIN(state) AS least, SUM(n) AS total
    FROM TUMBLE(readings, at, INTERVAL '1' MINUTE) GROUP BY sensor, window_start, window_end""",
    """SELECT UPPER(state) || sensor AS text, COUNT(DISTINCT state) AS states, MAX(state) AS most
    FROM readings WHERE state LIKE '%o%' OR sensor IS NULL GROUP BY 1""",
    """SELECT a.at, a.sensor, room, LAG(state) OVER (PARTITION BY a.sensor ORDER BY at) AS before
    FROM (SELECT at, sensor, state FROM readings WHERE n > 990) AS a JOIN rooms ON a.sensor = rooms.sensor""",
    "SELECT DISTINCT sensor, COALESCE(state, sensor) AS state FROM readings",
    """SELECT sensor, state, n FROM readings WHERE n > 5
    QUALIFY ROW_NUMBER() OVER (PARTITION BY state ORDER BY n DESC, sensor) = 1""",
)
ROWS = 4000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables in three forms."""
    random, path = Random(5), tmp_path_factory.mktemp("texts")
    sensors = [random.choice(("one", "two", "dröi", "", None)) for _ in range(ROWS)]
    states = [random.choice(("good", "so so", "x", None)) for _ in range(ROWS)]
    seconds = [row // 20 + random.choice((0, 0, 0, 1, 3)) for row in range(ROWS)]
    numbers = [random.randrange(1000) for _ in range(ROWS)]
    at = pa.array(seconds).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    columns = {"sensor": sensors, "state": states, "n": numbers, "at": at}
    readings = pa.table(columns)
    rooms = pa.table(
        {
            "op": ["+I"] * 2000,
            "sensor": ["one", "two", "", "dröi"] * 500,
            "room": ["hall", "attic"] * 1000,
        }
    )
    for name, table in (("readings", readings), ("rooms", rooms)):
        pq.write_table(table, path / f"{name}.encoded")
        pq.write_table(table, path / f"{name}.plain", use_dictionary=False)
        lines = [
            json.dumps(row, default=lambda at: f"{at:%Y-%m-%dT%H:%M:%S}Z")
            for row in table.to_pylist()
        ]
        (path / f"{name}.lines").write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("query", QUERIES)
def test_results_do_not_depend_on_dictionaries(query: str, folder: Path) -> None:
    outputs = []
    for form, format_ in (("encoded", "parquet"), ("plain", "parquet"), ("lines", "json")):
        paths = {"path": folder / f"readings.{form}", "rooms": folder / f"rooms.{form}"}
        text = SCRIPT.format(query=query, format=format_, **paths)
        code, out, err = fsql("run", "--quiet", "-e", text)
        assert (code, err) == (0, "")
        outputs.append(out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0].splitlines()) > 3
