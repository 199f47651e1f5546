"""Results that a service has written: taken while they are new, left out if they are damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.optimizer.collectors.built_in import collect
from fsql.optimizer.collectors.files import newest_interval
from fsql.optimizer.collectors.written_results import (
    AGE_MAX,
    Collected,
    newest_collected,
    newest_statistics,
    results_bytes,
    results_file,
    written_interval,
)
from fsql.optimizer.statistics import RESULTS, Statistics
from fsql.tests.unit.optimizer.recorded import EVERY, STARTED, record

if TYPE_CHECKING:
    from pathlib import Path

MARK = ("made by a service",)
NEWEST = int(STARTED / EVERY) + 4


def write(state: Path, interval: int) -> Statistics:
    """Write the results of some statistics, with a mark, and return them."""
    found = collect(state)._replace(problems=MARK)
    results_file(state).write_bytes(results_bytes(interval, found))
    return found


@pytest.mark.parametrize("late", [0, 1, AGE_MAX])
def test_new_results_are_taken_as_they_are(tmp_path: Path, late: int) -> None:
    record(tmp_path)
    assert newest_interval(tmp_path) == NEWEST
    written = write(tmp_path, NEWEST - late)
    assert newest_collected(tmp_path) == Collected(written, "spark", NEWEST - late, late)
    assert written_interval(tmp_path) == NEWEST - late


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        (NEWEST - AGE_MAX - 1, "its results by spark are more than 6 intervals old"),
        (NEWEST + 1, "its results by spark are of no interval of this job"),
    ],
)
def test_results_of_other_intervals_are_not_and_that_is_told(
    tmp_path: Path, interval: int, reason: str
) -> None:
    record(tmp_path)
    write(tmp_path, interval)
    told = f'"{results_file(tmp_path)}" is skipped: {reason}'
    expected = collect(tmp_path)._replace(problems=(told,))
    assert newest_collected(tmp_path) == Collected(expected, "built-in", NEWEST, 0)


def test_without_results(tmp_path: Path) -> None:
    assert newest_statistics(tmp_path) == Statistics()
    record(tmp_path)
    assert newest_statistics(tmp_path) == collect(tmp_path)
    assert written_interval(tmp_path) == -1


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("empty", "Input data was truncated"),
        ("cut", "it is damaged"),
        ("digit", "it is damaged"),
        ("text", "JSON is malformed: invalid character (byte 4)"),
        ("version", f"its version is {RESULTS + 1}, and this is {RESULTS}"),
        ("header", "Object missing required field `crc`"),
    ],
)
def test_damaged_results_are_left_out_and_named(tmp_path: Path, damage: str, reason: str) -> None:
    record(tmp_path)
    write(tmp_path, NEWEST)
    path = results_file(tmp_path)
    content = path.read_bytes()
    version = f'"results":{RESULTS}'.encode()
    changed = {
        "empty": b"",
        "cut": content[: len(content) // 2],
        "digit": content[:-100] + content[-100:].translate(bytes.maketrans(b"0123", b"1032")),
        "text": b"no results\n",
        "version": content.replace(version, f'"results":{RESULTS + 1}'.encode(), 1),
        "header": content.replace(b'"crc"', b'"sum"', 1),
    }[damage]
    assert changed != content
    path.write_bytes(changed)
    problem = f'"{path}" is skipped: {reason}'
    assert newest_statistics(tmp_path) == collect(tmp_path)._replace(problems=(problem,))
    assert written_interval(tmp_path) == -1
