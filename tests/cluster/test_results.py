"""The results of a job on processes, asked while workers and the coordinator are killed.

The oracle is the prefix: at any position, `copies` has the first lines, and every other result is what
Python computes of just these lines.  Cannot catch: an order of rows within a result, which has none.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from fsql.job.results.answers import Limits, answer
from fsql.job.results.job_results import JobResults
from fsql.job.results.running_job import RunningJob
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

LINES = 400
JOB = """
CREATE TABLE lines (id BIGINT, line STRING) WITH (
    'connector' = 'words', 'seed' = '17', 'vocabulary' = '50', 'words_per_line' = '4',
    'count' = '{count}', 'rate' = '{rate}');
CREATE TABLE copies WITH ('connector' = 'results') AS SELECT id, line FROM lines;
CREATE TABLE counts WITH ('connector' = 'results') AS
    SELECT word, COUNT(*) AS n FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word;
CREATE TABLE totals WITH ('connector' = 'results') AS SELECT COUNT(*) AS n, MAX(id) AS last FROM lines;
CREATE TABLE frequencies WITH ('connector' = 'results') AS SELECT n FROM (
    SELECT word, COUNT(*) AS n FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word);
CREATE TABLE seldom WITH ('connector' = 'results') AS SELECT id FROM lines WHERE MOD(id, 100) = 99;
CREATE TABLE written (word STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
INSERT INTO written
    SELECT word, COUNT(*) AS n FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word;
"""


def check(results: JobResults) -> tuple[str, int]:
    """Compare all results at the position that they have; return it, and the number of lines below it."""
    results.refresh()
    with results.at_rest() as as_of:
        rows = {
            schema.table: list(
                zip(*(c.to_pylist() for c in results.all_rows(schema.table)), strict=True)
            )
            for schema in results.tables()
        }
    if not rows:
        return as_of.position, 0
    copies = sorted(rows["copies"])
    assert [number for number, _ in copies] == list(range(len(copies)))
    counts = Counter(word for _, line in copies for word in line.split(" "))
    assert dict(rows["counts"]) == counts
    assert rows["totals"] == ([(len(copies), len(copies) - 1)] if copies else rows["totals"])
    assert sorted(rows["frequencies"]) == sorted((n,) for n in counts.values())
    assert sorted(rows["seldom"]) == [(at,) for at in range(99, len(copies), 100)]
    return as_of.position, len(copies)


class Follower:
    """What a subscriber makes of the changes of `counts`, by the position that it keeps."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.after: str | None = None

    def follow(self, results: JobResults, seconds: float) -> None:
        """Take changes from where it was: none is missed, and none comes twice."""
        pieces = RunningJob(results).changes("counts", after=self.after, seconds=seconds)
        for piece in pieces:
            self.after = piece.position
            for change in piece.changes:
                if change.op in {"-U", "-D"}:
                    assert self.rows.pop(change.row["word"]) == change.row["n"]
                else:
                    assert change.row["word"] not in self.rows
                    self.rows[change.row["word"]] = change.row["n"]


def folded(path: Path) -> dict[str, int]:
    """Return the rows that the changes in a file leave."""
    found: dict[str, int] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["op"] in {"+I", "+U"}:
            found[row["word"]] = row["n"]
    return found


def test_all_results_are_of_one_prefix_whatever_is_killed(new_twin: Callable[..., Twin]) -> None:
    twin = new_twin(LINES)
    (twin.directory / "job.sql").write_text(JOB.format(count=LINES, rate=100))
    twin.start(2)
    wait_until((twin.state / "positions").is_dir, "a state directory")
    results, follower, seen = JobResults(twin.state), Follower(), [0]

    def advance(by: int) -> None:
        until = seen[-1] + by

        def reached() -> bool:
            _, lines = check(results)
            assert lines >= seen[-1], "time went back"
            seen.append(lines)
            return lines >= until

        wait_until(reached, "further lines")

    advance(20)
    for role in ("worker", "coordinator", "worker"):
        assert twin.kill(Random(1), role)
        advance(40)
        results.rewrite_if_long(0)
        # A reader that comes later, and begins with the rewritten logs, sees as much.
        late = JobResults(twin.state)
        assert check(late)[1] >= seen[-1]
        late.close()
        follower.follow(results, 0.0)
    assert twin.ended() == 0
    assert check(results) == ("end", LINES)
    assert answer(results, "SELECT n FROM totals", Limits()).to_pylist() == [{"n": LINES}]
    follower.follow(results, HANGS_AFTER_SECONDS)
    written = folded(twin.directory / "counts.jsonl")
    assert follower.rows == written
    rows = answer(results, "SELECT * FROM counts", Limits()).to_pylist()
    assert {row["word"]: row["n"] for row in rows} == written
    results.close()
