"""Joins with versions whose event time is a computed column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """\
CREATE TABLE l (id INT, ts BIGINT, at AS TIMESTAMP_MILLIS(ts), WATERMARK FOR at AS at{left_key})
    WITH ('connector' = 'file', 'path' = 'l.jsonl'{left});
CREATE TABLE r (id INT, v INT, ts BIGINT NOT NULL, at AS TIMESTAMP_MILLIS(ts), WATERMARK FOR at AS at,
    PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'file', 'path' = 'r.jsonl'{right});
CREATE VIEW large AS SELECT v, id, at, ts + 1 AS later FROM r WHERE v > 0;
"""
UPSERT = ", 'changes' = 'upsert'"
JOINS = (
    "LEFT JOIN r FOR SYSTEM_TIME AS OF l.at ON l.id = r.id",
    "LEFT JOIN large FOR SYSTEM_TIME AS OF l.at AS r ON l.id = r.id",
    "ASOF LEFT JOIN r ON l.id = r.id AND l.at >= r.at",  # versions, where r is a table with a key
)


@pytest.mark.parametrize(
    ("join", "right", "flags"),
    [
        *((join, right, ()) for join in JOINS for right in ("", UPSERT)),
        pytest.param(
            JOINS[0], UPSERT, ("--workers=2",), marks=[pytest.mark.cluster, pytest.mark.slow]
        ),
    ],
)
def test_versions_are_valid_from_a_computed_time(
    tmp_path: Path, join: str, right: str, flags: tuple[str, ...]
) -> None:
    (tmp_path / "l.jsonl").write_text('{"id":1,"ts":5}\n{"id":1,"ts":9}\n{"id":2,"ts":9}\n')
    (tmp_path / "r.jsonl").write_text('{"id":1,"v":7,"ts":1}\n{"id":1,"v":8,"ts":6}\n')
    text = TABLES.format(left="", left_key="", right=right)
    (tmp_path / "job.sql").write_text(f"{text}SELECT l.id, r.v FROM l {join};\n")
    code, out, err = fsql("run", "-q", tmp_path / "job.sql", *flags)
    assert (code, err) == (0, "")
    assert out == '{"id":1,"v":7}\n{"id":1,"v":8}\n{"id":2,"v":null}\n'


@pytest.mark.parametrize("join", JOINS)
def test_changes_of_the_left_have_a_computed_time_too(tmp_path: Path, join: str) -> None:
    (tmp_path / "l.jsonl").write_text('{"op":"+I","id":1,"ts":5}\n{"op":"+U","id":1,"ts":9}\n')
    (tmp_path / "r.jsonl").write_text(
        '{"op":"+I","id":1,"v":7,"ts":1}\n{"op":"+U","id":1,"v":8,"ts":6}\n'
    )
    text = TABLES.format(left=UPSERT, left_key=", PRIMARY KEY (id) NOT ENFORCED", right=UPSERT)
    (tmp_path / "job.sql").write_text(f"{text}SELECT l.id, r.v FROM l {join};\n")
    code, out, err = fsql("run", "-q", tmp_path / "job.sql")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == '{"op":"+I","id":1,"v":7}'
    assert out.splitlines()[-1] in {'{"op":"+U","id":1,"v":8}', '{"op":"+I","id":1,"v":8}'}
