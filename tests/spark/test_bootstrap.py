"""A job that begins with the state of its history, computed on Spark, writes the bytes of one long run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.job.bootstrap import Until, bootstrap
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.process_options import ProcessOptions
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.runtime.dataflow.front import Front
from fsql.runtime.ports import Chunk
from fsql.tests.cli.commands import fsql, process
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.job.bootstrap import Bootstrapped
    from fsql.job.compilation import Compiled

CUT = ("bank_transfers", "left_join", "sessions", "top_three_per_hour")


def begin(script: Path, until: Until | None, workers: int = 2) -> Bootstrapped:
    """Bootstrap the job of a script in the state directory beside it."""
    compiled = compile_job(read_script(str(script), {}))
    process_options = ProcessOptions(state=script.parent / "state")
    return bootstrap(compiled, RunOptions(workers=workers), process_options, "", until)


def continue_work(script: Path, workers: int) -> None:
    said = fsql("run", script, "--quiet", "--state", script.parent / "state", "-w", str(workers))
    assert said.code == 0, said.err


def times_of(compiled: Compiled) -> list[int]:
    """Return the times of the rows of all splits, ascending, without those before everything."""
    splits = open_splits(compiled)
    plan = choose_plan(compiled, splits, RunOptions())
    times = set()
    for task in plan.fronts(splits):
        front = Front(task.number, plan.tables[task.ordinal], task.split)
        reader = splits[task.ordinal][task.split].open()
        while isinstance(chunk := reader.read(1000), Chunk):
            batch, _ = front.take(chunk)
            if batch is not None:
                times |= set(np.unique(batch.time).tolist())
        reader.close()
    return sorted(time for time in times if time > -(2**62))


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.jsonl"))}


@pytest.mark.parametrize("name", CUT)
@pytest.mark.usefixtures("bootstraps")
def test_a_stream_that_is_cut_anywhere_goes_on(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    script = example.copy_to(tmp_path)
    drawn = random.Random(name)
    until = drawn.choice(times_of(compile_job(read_script(str(script), {})))) + drawn.choice((0, 1))
    done = begin(script, Until(until, is_row=False), workers=drawn.choice((1, 2, 3)))
    assert done.position.time == until
    assert len("".join(written(tmp_path).values()).splitlines()) == done.rows_out
    continue_work(script, drawn.choice((2, 3)))
    assert written(tmp_path) == example.expected


JOIN = """
CREATE TABLE prices (item STRING, price BIGINT)
    WITH ('connector' = 'file', 'path' = 'prices.jsonl', 'format' = 'json');
CREATE TABLE orders (item STRING, at TIMESTAMP, WATERMARK FOR at AS at)
    WITH ('connector' = 'stdin', 'format' = 'json');
CREATE TABLE sums (item STRING, paid BIGINT, orders BIGINT)
    WITH ('connector' = 'file', 'path' = 'out.jsonl', 'format' = 'json');
INSERT INTO sums SELECT o.item, SUM(p.price), COUNT(*)
    FROM orders AS o JOIN prices AS p ON o.item = p.item GROUP BY o.item;
"""


def written_with(text: str, script: Path, *flags: str | Path) -> str:
    """Run a script with some standard input; return what it has written."""
    command = process("run", script, *flags, stdin=True)
    assert command.communicate(text.encode()) == (b"", b"")
    return (script.parent / "out.jsonl").read_text()


@pytest.mark.usefixtures("bootstraps")
def test_tables_at_rest_are_the_history_of_a_live_table(tmp_path: Path) -> None:
    script = tmp_path / "query.sql"
    script.write_text(JOIN)
    prices = "".join(f'{{"item": "{i}", "price": {i * i}}}\n' for i in range(50))
    (tmp_path / "prices.jsonl").write_text(prices)
    orders = "".join(
        f'{{"item": "{i * 7 % 60}", "at": "2026-01-01T00:00:{i:02}Z"}}\n' for i in range(60)
    )
    done = begin(script, None)
    assert (done.rows_in, done.rows_out, done.state_rows) == (50, 0, 50)
    flags = ("--quiet", "--state", tmp_path / "state", "-w", "2")
    found = written_with(orders, script, *flags)
    (tmp_path / "out.jsonl").unlink()
    assert found == written_with(orders, script, "--quiet")
    assert len(found.splitlines()) == 50


def test_where_history_ends_has_to_fit_the_times_of_rows(tmp_path: Path) -> None:
    script = EXAMPLES["bank_transfers"].copy_to(tmp_path)
    with pytest.raises(FsqlError, match="its rows have event times"):
        begin(script, Until(3, is_row=True))
