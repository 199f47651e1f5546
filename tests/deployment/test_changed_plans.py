"""Graph ticks: the plan of a running job is changed, and its output goes on exactly-once.

A line of `words` has its number as its time, so the position T of a change is a number of lines: what is
below comes from the old plan, the rest from the new one.  The input outlasts the test: the job is drained
at its end, and the oracle reads as many lines.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fsql.job.state_directory import read_description
from fsql.tests.deployment.changed_job import (
    COPY_SINK,
    COUNT_SINK,
    COUNTS,
    LENGTHS,
    LOWER,
    UPPER,
    Change,
    net,
    sink,
)

pytestmark = pytest.mark.cluster


def test_equal_operators_keep_their_state(change: Change) -> None:
    change.start(COUNT_SINK + COPY_SINK + COUNTS + UPPER)
    position = change.drain()
    # Declared in another order, with another stateless query beside the counts.
    change.deploy(COPY_SINK + COUNT_SINK + LOWER + COUNTS)
    change.finish()
    counts = change.expected(COUNT_SINK + COUNTS)["counts"]
    upper = change.expected(COPY_SINK + UPPER)["copies"]
    lower = change.expected(COPY_SINK + LOWER)["copies"]
    assert change.written("counts") == counts
    assert change.written("copies") == upper[:position] + lower[position:]


def test_outputs_come_and_go(change: Change) -> None:
    change.start(COUNT_SINK + COPY_SINK + COUNTS + UPPER)
    position = change.drain()
    other = sink("others", "line STRING")
    lower = LOWER.replace("copies", "others")
    change.deploy(COUNT_SINK + other + COUNTS + lower)
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]
    assert change.written("copies") == change.expected(COPY_SINK + UPPER)["copies"][:position]
    assert change.written("others") == change.expected(other + lower)["others"][position:]


def names_in(found: object) -> set[str]:
    """Return the names of all fields of a JSON value."""
    if isinstance(found, dict):
        return set(found).union(*map(names_in, found.values()))
    return set().union(*map(names_in, found)) if isinstance(found, list) else set()


def test_loss_of_state_is_refused_and_said(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    path = change.script(COUNT_SINK + LENGTHS)
    said = change.cluster.say("deploy", path, "--json", "--dry-run")
    assert said.code == 1
    found: dict[str, Any] = json.loads(said.out)
    text = "Aggregate by word; compute {} AS n"
    old, new = text.format("COUNT(*)"), text.format("SUM(CHAR_LENGTH(word))")
    assert [(each["text"], each["effect"], each["reason"]) for each in found["operators"]] == [
        (new, "begins empty", f"it changed; it was {old}"),
        (old, "dropped", "no operator of the new plan computes the same"),
    ]
    documented = change.cluster.say("deploy", "--help").out
    assert names_in(found) == set(re.findall(r'"(\w+)"', documented))
    error = json.loads(said.err.splitlines()[-1])["diagnostics"][0]
    assert (error["code"], error["message"], error["helps"]) == (
        "FSQL-E638",
        "the change would lose state",
        [
            "recompute it from the input: --rebuild",
            "or continue without it: --allow-state-loss",
        ],
    )
    assert change.cluster.status("job")["state"] == "running"


def test_state_is_rebuilt_from_the_input(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    position = change.drain()
    before = change.written("counts")
    change.deploy(COUNT_SINK + LENGTHS, "--rebuild")
    change.cluster.wait_for_state("job", "running")
    [job] = change.cluster.directory.jobs()
    begun = read_description(job.state)
    assert begun is not None
    [[read]] = begun.replayed.values()
    assert 0 < read <= position  # the rest of a batch may be read again
    change.finish()
    lengths = change.expected(COUNT_SINK + LENGTHS)["counts"]
    # Each word of a line changes both, so both write as many rows for a line.
    written, rest = change.written("counts"), lengths[len(before) :]
    assert written[: len(before)] == before
    assert written[len(written) - len(rest) :] == rest
    assert net(written) == net(lengths)


def test_state_may_be_lost_if_that_is_asked_for(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    position = change.drain()
    before = change.written("counts")
    change.deploy(COUNT_SINK + LENGTHS, "--allow-state-loss")
    change.finish()
    rest = LENGTHS.replace(" GROUP BY", f" WHERE id >= {position} GROUP BY")
    written, end = change.written("counts"), len(before) + net(before).total()
    assert written[: len(before)] == before
    # All rows of the old result are removed: the new one has none at the position.
    assert net(written[:end]).total() == 0
    assert written[end:] == change.expected(COUNT_SINK + rest)["counts"]


def test_a_running_job_is_changed_again_and_again(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    scripts = [COUNT_SINK + COPY_SINK + COUNTS + UPPER, COUNT_SINK + COUNTS]
    for script in scripts:
        change.deploy(script)
        change.cluster.wait_for_state("job", "running")
        assert change.was_prepared()
        change.cluster.kill_job("job")
        change.cluster.wait_for_state("job", "running")
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]


def test_a_changed_job_is_changed_again_before_it_has_released_anything(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    change.deploy(COUNT_SINK + COPY_SINK + COUNTS + UPPER)
    change.deploy(COUNT_SINK + COPY_SINK + COUNTS + LOWER)
    change.finish()
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]
    upper = change.expected(COPY_SINK + UPPER)["copies"]
    lower = change.expected(COPY_SINK + LOWER)["copies"]
    copies = change.written("copies")
    begin = len(lower) - len(copies)
    turn = next((n for n, line in enumerate(copies) if line != upper[begin + n]), len(copies))
    assert copies == upper[begin : begin + turn] + lower[begin + turn :]


def test_a_new_table_needs_a_rebuild(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    more = (
        "CREATE TABLE more (line STRING) WITH ('connector' = 'words', 'count' = '1');\n"
        "INSERT INTO copies SELECT line FROM more;\n"
    )
    path = change.script(COUNT_SINK + COPY_SINK + COUNTS + more)
    assert change.cluster.say("deploy", path, "--quiet").err.splitlines()[0] == (
        'error[FSQL-E638]: table "more" is new: its rows below the position of the change'
        " would be missing"
    )


def test_a_change_that_cannot_start_leaves_the_job_as_it_was(change: Change) -> None:
    change.start(COUNT_SINK + COUNTS)
    (change.directory / "copies.jsonl").write_text("{}\n")
    path = change.script(COUNT_SINK + COPY_SINK + COUNTS + UPPER)
    said = change.cluster.say("deploy", path, "--quiet")
    assert said.err.startswith("error[FSQL-E541]")
    change.finish()
    assert change.written("copies") == ["{}"]
    assert change.written("counts") == change.expected(COUNT_SINK + COUNTS)["counts"]


def test_an_output_with_another_path_has_to_be_moved(change: Change) -> None:
    change.start(COUNT_SINK + COPY_SINK + COUNTS + UPPER)
    change.drain()
    moved = COPY_SINK.replace("copies.jsonl", "moved.jsonl")
    path = change.script(COUNT_SINK + moved + COUNTS + UPPER)
    said = change.cluster.say("deploy", path, "--quiet")
    assert said.err.splitlines()[0] == (
        f'error[FSQL-E537]: output "{change.directory}/moved.jsonl" does not match the position of the'
        " job: it has none of the rows that the job has written"
    )
    (change.directory / "copies.jsonl").rename(change.directory / "moved.jsonl")
    change.deploy(COUNT_SINK + moved + COUNTS + UPPER)
    change.finish()
    assert change.written("moved") == change.expected(COPY_SINK + UPPER)["copies"]
