"""WITHIN of MATCH_RECOGNIZE excludes its bound, as that of Flink SQL does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

MATCH = '{"first":"2026-01-01T00:00:00Z","last":"%s"}\n'


@pytest.mark.parametrize("pattern", ["A C", "A B* C"])
@pytest.mark.parametrize(
    ("last", "matches"),
    [
        ("2026-01-01T00:00:04.999999Z", True),
        ("2026-01-01T00:00:05Z", False),
        ("2026-01-01T00:00:05.000001Z", False),
    ],
)
def test_the_last_row_is_less_than_the_interval_after_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, last: str, *, matches: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text(
        f'{{"n":1,"at":"2026-01-01T00:00:00Z"}}\n{{"n":3,"at":"{last}"}}\n'
    )
    defined = ", B AS B.n = 2" if "B" in pattern else ""
    script = (
        "CREATE TABLE t (n INT, at TIMESTAMP, WATERMARK FOR at AS at)"
        " WITH ('connector' = 'file', 'path' = 't.jsonl'); SELECT first, last FROM t MATCH_RECOGNIZE ("
        " ORDER BY at MEASURES A.at AS first, C.at AS last"
        f" PATTERN ({pattern}) WITHIN INTERVAL '5' SECOND DEFINE A AS A.n = 1, C AS C.n = 3{defined})"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (0, MATCH % last if matches else ""), err
