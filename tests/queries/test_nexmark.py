"""The queries of Nexmark give what the same batches give in DuckDB, over the same files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

from fsql.benchmarks.nexmark_batch import open_events
from fsql.benchmarks.nexmark_events import in_order, write_events
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.arrays import Ints


QUERIES = Path(__file__).parents[2] / "queries" / "nexmark"
TABLES = (QUERIES / "tables.sql").read_text()
BATCHES = {path.stem: path.read_text() for path in sorted(QUERIES.glob("batch/*.sql"))}
EVENTS = 30_000
EVENT_RATE = 1_000
DELAY_SECONDS = 4


def out_of_order(numbers: Ints) -> Ints:
    """Return the events such that none is behind one that is the delay of the watermark later."""
    behind = np.random.default_rng(5).integers(0, DELAY_SECONDS * EVENT_RATE, len(numbers))
    return numbers[np.argsort(numbers + behind, kind="stable")]


@pytest.fixture(scope="module", params=[in_order, out_of_order], ids=["in-order", "out-of-order"])
def events(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    order: Callable[[Ints], Ints] = request.param
    directory = tmp_path_factory.mktemp("events")
    write_events(directory, EVENTS, EVENT_RATE, order)
    return directory


def script(name: str) -> str:
    return TABLES + (QUERIES / f"{name}.sql").read_text()


def difference(events: Path, result: Path, batch: str) -> list[tuple[Any, ...]]:
    """Return the rows that only the query has, and those that only the batch has."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        open_events(connection, events)
        return _difference(connection, result, batch)


def _difference(
    connection: duckdb.DuckDBPyConnection, result: Path, batch: str
) -> list[tuple[Any, ...]]:
    rows = connection.read_parquet(str(result / "*.parquet"))
    columns = ", ".join(name for name in rows.columns if name != "op")
    if "op" in rows.columns:
        net = "SUM(CASE WHEN op IN ('+I', '+U') THEN 1 ELSE -1 END)"
        rows.create_view("changes")
        connection.execute(
            f"CREATE VIEW result AS SELECT {columns} FROM (SELECT *, UNNEST(RANGE(net)) FROM "
            f"(SELECT {columns}, {net}::BIGINT AS net FROM changes GROUP BY ALL))"
        )
    else:
        rows.create_view("result")
    connection.execute(f"CREATE TABLE batch AS {batch}")
    assert connection.execute("SELECT COUNT(*) > 0 FROM batch").fetchall() == [(True,)]
    return [
        *connection.execute("FROM result EXCEPT ALL FROM batch LIMIT 5").fetchall(),
        *connection.execute("FROM batch EXCEPT ALL FROM result LIMIT 5").fetchall(),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_a_query_gives_what_the_batch_gives(name: str, events: Path, tmp_path: Path) -> None:
    sink = f"'connector' = 'file', 'path' = '{tmp_path / 'result'}', 'format' = 'parquet'"
    text = script(name).replace("'connector' = 'blackhole'", sink)
    (tmp_path / "query.sql").write_text(text)
    code, out, err = fsql("run", str(tmp_path / "query.sql"), "--quiet", "-D", f"events={events}")
    assert (code, out, err) == (0, "", "")
    assert difference(events, tmp_path / "result", BATCHES[name]) == []


def test_every_query_has_a_batch() -> None:
    assert {path.stem for path in QUERIES.glob("q*.sql")} == set(BATCHES)
