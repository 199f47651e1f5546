"""Changed queries of updating outputs: at the position of the change the output gets the difference.

The changes of an output have to add up to the result of the new query over all lines, whatever was written
by the old one, and no change may remove a row that is not there.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from fsql.job import graph_tick
from fsql.job.snapshot_copy import copy_snapshot
from fsql.tests.deployment.changed_job import COUNT_SINK, COUNTS, net, sink

if TYPE_CHECKING:
    from collections import Counter

    from fsql.tests.deployment.changed_job import Change

pytestmark = pytest.mark.cluster

EVEN = COUNTS.replace(" GROUP BY word", " GROUP BY word HAVING MOD(COUNT(*), 2) = 0")
TIMES = COUNTS.replace("COUNT(*) AS n", "COUNT(*) * 1000 AS n")
INITIAL = COUNTS.replace("SELECT word,", "SELECT SUBSTR(word, 1, 1) AS word,")
UPSERT_SINK = sink("counts", "word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED").replace(
    "jsonl'", "jsonl', 'changes' = 'upsert'"
)
SHARDED_SINK = COUNT_SINK.replace("jsonl'", "jsonl', 'shards' = '3'")
OTHER_SINK = COUNT_SINK.replace("counts", "others")


def changes_between(old: Counter[str], new: Counter[str]) -> int:
    return (old - new).total() + (new - old).total()


def result_of(change: Change, script: str, lines: int) -> Counter[str]:
    change.lines = lines
    return net(change.expected(script)["counts"])


def without_position(line: str) -> str:
    """Return a line of a shard as it is without shards."""
    row = json.loads(line)
    del row["position"]
    return json.dumps(row)


@pytest.mark.parametrize(
    ("old", "new"),
    [(COUNTS, TIMES), (COUNTS, EVEN), (EVEN, COUNTS), (COUNTS, INITIAL)],
    ids=["project", "having", "no having", "not injective"],
)
def test_the_changes_add_up(change: Change, old: str, new: str) -> None:
    change.start(COUNT_SINK + old)
    position = change.drain()
    before = change.written("counts")
    differences = change.dry_run(COUNT_SINK + new)["outputs"]["differences"]
    change.deploy(COUNT_SINK + new)
    change.finish()
    written, lines = change.written("counts"), change.lines
    assert written[: len(before)] == before
    assert net(written) == result_of(change, COUNT_SINK + new, lines)
    count = changes_between(net(before), result_of(change, COUNT_SINK + new, position))
    assert differences == [{"output": "counts", "changes": count}]


def test_upserts(change: Change) -> None:
    change.start(UPSERT_SINK + COUNTS)
    change.drain()
    change.deploy(UPSERT_SINK + EVEN)
    change.finish()
    rows: dict[str, int] = {}
    for line in map(json.loads, change.written("counts")):
        if line["op"] == "-D":
            del rows[line["word"]]
        else:
            assert (line["op"] == "+U") == (line["word"] in rows), line
            rows[line["word"]] = line["n"]
    expected = COUNT_SINK + EVEN
    assert rows == {
        row["word"]: row["n"] for row in map(json.loads, result_of(change, expected, change.lines))
    }


def test_other_columns_and_a_new_output(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    change.drain()
    more = sink("counts", "word STRING, initial STRING, n BIGINT")
    script = more + COUNTS.replace("word,", "word, SUBSTR(word, 1, 1) AS initial,")
    others = OTHER_SINK + COUNTS.replace("counts", "others")
    change.deploy(script + others)
    change.finish()
    lines = change.lines
    assert net(change.written("counts")) == result_of(change, script, lines)
    assert net(change.written("others")) == result_of(change, COUNT_SINK + COUNTS, lines)


def test_shards_that_workers_write(change: Change) -> None:
    change.start(SHARDED_SINK + COUNTS, workers=3)
    change.drain()
    change.deploy(SHARDED_SINK + TIMES)
    change.cluster.wait_for_state("job", "running")
    change.cluster.kill_job("job")
    change.finish("counts-0-of-3")
    written = [line for shard in range(3) for line in change.written(f"counts-{shard}-of-3")]
    assert net(map(without_position, written)) == result_of(
        change, COUNT_SINK + TIMES, change.lines
    )


SUMS = COUNTS.replace("AS n", "AS n, SUM(CHAR_LENGTH(word)) AS letters")
OTHER_SUMS = SUMS.replace("SUM(CHAR_LENGTH(word))", "MAX(id)")
SUM_SINK = sink("counts", "word STRING, n BIGINT, letters BIGINT")


def test_another_column_of_rebuilt_state(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS, workers=3)
    change.drain()
    said = change.dry_run(SUM_SINK + SUMS, "--rebuild")["outputs"]
    assert said["differences"] == [{"output": "counts", "changes": None}]
    for script in (SUM_SINK + SUMS, SUM_SINK + OTHER_SUMS, SUM_SINK + SUMS):
        change.deploy(script, "--rebuild")
        change.cluster.kill_job("job")
        change.cluster.wait_for_state("job", "running")
    change.finish()
    assert net(change.written("counts")) == result_of(change, SUM_SINK + SUMS, change.lines)


def test_shards_of_rebuilt_state(change: Change) -> None:
    change.start(SHARDED_SINK + COUNTS, workers=3)
    change.drain()
    initials = INITIAL.replace("GROUP BY word", "GROUP BY SUBSTR(word, 1, 1)")
    change.deploy(SHARDED_SINK + initials, "--rebuild")
    change.finish("counts-0-of-3")
    written = [line for shard in range(3) for line in change.written(f"counts-{shard}-of-3")]
    expected = result_of(change, COUNT_SINK + initials, change.lines)
    assert net(map(without_position, written)) == expected


def test_kills_around_the_change(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS, workers=3)
    change.drain()
    for script in (TIMES, EVEN, INITIAL, COUNTS, TIMES):
        change.deploy(COUNT_SINK + script)
        change.cluster.kill_job("job")
        change.cluster.wait_for_state("job", "running")
    change.finish()
    assert net(change.written("counts")) == result_of(change, COUNT_SINK + TIMES, change.lines)


def check_damage(change: Change) -> None:
    """Check that each damage of the files of differences is found."""
    files = sorted(change.state.glob("difference-*"))
    assert len(files) == 2
    for path in files:
        data = path.read_bytes()
        for damaged in (None, data[:-1], bytes([data[0] ^ 1]) + data[1:]):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            said = change.cluster.say("snapshot", "verify", "job")
            assert (said.code, str(path) in said.err + said.out) == (1, True), said
            path.write_bytes(data)
    assert change.cluster.say("snapshot", "verify", "job").code == 0


def test_changes_of_a_job_that_releases_nothing_in_between(
    change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_tick, "_check_drained", lambda *_: None)
    change.start(COUNT_SINK + COUNTS)
    change.drain()
    before = change.written("counts")
    change.convert(COUNT_SINK + TIMES)
    script = COUNT_SINK + EVEN + OTHER_SINK + COUNTS.replace("counts", "others")
    change.convert(script)
    copy = change.directory / "copy"
    copy_snapshot(change.state, copy)
    shutil.rmtree(change.state)
    change.cluster.call("snapshot", "restore", copy, "job")
    assert change.written("counts") == before
    check_damage(change)
    change.deploy(script)
    change.finish()
    lines = change.lines
    assert net(change.written("counts")) == result_of(change, COUNT_SINK + EVEN, lines)
    assert net(change.written("others")) == result_of(change, COUNT_SINK + COUNTS, lines)


def test_a_column_that_comes_back(change: Change) -> None:
    """A reader could not tell a new row, where the column is NULL, from one that has had it all along."""
    with_initials = sink("counts", "word STRING, initial STRING, n BIGINT")
    initials = COUNTS.replace("word,", "word, SUBSTR(word, 1, 1) AS initial,")
    change.start(with_initials + initials)
    change.drain()
    change.deploy(COUNT_SINK + COUNTS)
    change.finish()
    lines, written = change.lines, change.written("counts")
    shown = [json.loads(line) for line in written]
    columns = [json.dumps({**each, "initial": None}) for each in shown]
    assert net(columns) == result_of(change, COUNT_SINK + COUNTS, lines)
    said = change.cluster.say("deploy", change.script(with_initials + initials), "--quiet")
    assert said.err.splitlines()[0] == (
        'error[FSQL-E638]: the changes of output "counts" would not add up: rows of before have had'
        ' another column "initial"'
    )


def test_a_row_of_the_new_result_that_fails(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    change.drain()
    failing = COUNTS.replace("COUNT(*) AS n", "1 / (COUNT(*) - COUNT(*)) AS n")
    said = change.cluster.say("deploy", change.script(COUNT_SINK + failing), "--quiet")
    assert said.err.splitlines()[0] == (
        'error[FSQL-E638]: the changes of output "counts" would not add up: a row of its result fails:'
        " FSQL-E501, division by zero"
    )
