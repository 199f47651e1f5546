"""A run in one process writes rows as soon as the barrier releases them, and so holds few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.runtime.batch import END
from fsql.runtime.dataflow.barrier import DeadLetters, Released
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.kernels.join import append_only

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.barrier import LateRows

ROWS = 40
PAIRS_MAX = 100
SCRIPT = """\
CREATE TABLE a (k BIGINT, v BIGINT) WITH ('connector' = 'file', 'path' = 'a.jsonl', 'format' = 'json');
CREATE TABLE b (k BIGINT, v BIGINT) WITH ('connector' = 'file', 'path' = 'b.jsonl', 'format' = 'json');
CREATE TABLE pairs (x BIGINT, y BIGINT)
WITH ('connector' = 'file', 'path' = 'pairs.jsonl', 'format' = 'json');
INSERT INTO pairs SELECT a.v, b.v FROM a JOIN b ON a.k = b.k;
"""


class Counted:
    """Counts the rows that wait to be written."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int]] = []
        self.waiting = self.most_waiting = 0
        self.bound: Root | None = None

    def take(self, contents: Released | LateRows | DeadLetters) -> None:
        assert isinstance(contents, Released)
        x, y = (column.to_pylist() for column in contents.release.columns)
        self.rows += zip(x, y, strict=True)
        self.waiting += len(x)
        self.most_waiting = max(self.most_waiting, self.waiting)

    def advance(self, bound: Root) -> None:
        assert self.bound is None or self.bound <= bound
        self.bound = bound
        self.waiting = 0


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
def test_a_complete_result_ends_a_run_at_its_last_row(tmp_path: Path, chunk_rows: int) -> None:
    (tmp_path / "t.jsonl").write_text('bad\n{"n":1}\nworse\n{"n":2}\nworst\n{"n":0}\n')
    (tmp_path / "job.sql").write_text(
        "CREATE TABLE t (n BIGINT) WITH ('connector' = 'file', 'path' = 't.jsonl', 'on_error' = 'reject',"
        " 'rejects_path' = 'r.jsonl'); SELECT 4 / n AS q FROM t LIMIT 2;"
    )
    job = compile_job(read_script(str(tmp_path / "job.sql"), {}))
    splits = open_splits(job)
    taken: list[object] = []

    class Taken:
        def take(self, contents: Released | LateRows | DeadLetters) -> None:
            if isinstance(contents, Released):
                taken.extend(contents.release.columns[0].to_pylist())
            elif isinstance(contents, DeadLetters):
                taken.extend(dead_letter.excerpt for _, dead_letter in contents.dead_letters)

        def advance(self, bound: Root) -> None:
            bounds.append(bound)

    bounds: list[Root] = []
    plan = choose_plan(job, splits, RunOptions())
    run = LocalRun(plan, Edges(splits, Taken()), chunk_rows=chunk_rows, insert_limits=[2])
    run.run()
    assert sorted(map(str, taken)) == ["2", "4", "bad", "worse"]
    assert (run.stopped, bounds[-1]) == (None, END)


def test_pairs_of_a_join_are_written_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_only, "PAIRS_MAX", PAIRS_MAX)
    for name in ("a", "b"):
        lines = [f'{{"k": 1, "v": {number}}}\n' for number in range(ROWS)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    (tmp_path / "job.sql").write_text(SCRIPT)
    job = compile_job(read_script(str(tmp_path / "job.sql"), {}))
    splits = open_splits(job)
    outputs = Counted()

    LocalRun(choose_plan(job, splits, RunOptions()), Edges(splits, outputs)).run()

    assert sorted(outputs.rows) == [(x, y) for x in range(ROWS) for y in range(ROWS)]
    assert outputs.bound == END
    # A root makes up to ROWS pairs, and two parts may be released together.
    assert outputs.most_waiting <= 2 * PAIRS_MAX + ROWS
