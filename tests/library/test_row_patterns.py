"""MATCH_RECOGNIZE on processes: matches are those of one process, also where a worker is killed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

import fsql
from fsql.tests.library.test_processes import kill_during

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.cluster

ROWS: Final = 20_000
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
SCRIPT: Final = """
    CREATE TABLE ticks (
        k STRING, x BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND
    ) WITH ('connector' = 'file', 'path' = 'in.jsonl');
    CREATE TABLE matches WITH ('connector' = 'file', 'path' = '${to}') AS
    SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY at
        MEASURES FIRST(x) AS first, MAX(fall.x) AS most, COUNT(*) AS n, MATCH_NUMBER() AS number
        AFTER MATCH SKIP ${skip}
        PATTERN (high fall* rise) WITHIN INTERVAL '20' SECOND
        DEFINE high AS x > 80, fall AS x < PREV(x), rise AS x > high.x
    );
"""


def rows(random: Random) -> str:
    """Return rows of some keys, up to four seconds out of order."""
    lines = []
    for number in range(ROWS):
        at = BEGIN + timedelta(milliseconds=50 * number - random.choice((0, 0, 900, 4_000)))
        text = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines.append(
            f'{{"k":"k{random.randrange(11)}","x":{random.randrange(100)},"at":"{text}"}}\n'
        )
    return "".join(lines)


def run(folder: Path, to: str, skip: str, **options: Any) -> Any:
    """Run the script; return what it did."""
    session = fsql.Session(base_directory=folder, parameters={"to": to, "skip": skip})
    return session.run(SCRIPT, **options)


@pytest.mark.slow
def test_a_killed_worker_does_not_show_in_the_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.jsonl").write_text(rows(Random("row patterns")))
    for skip in ("PAST LAST ROW", "TO NEXT ROW"):

        def run_once(state: Path, skip: str = skip) -> Any:
            (tmp_path / "matches.jsonl").unlink(missing_ok=True)
            return run(tmp_path, "matches.jsonl", skip, processes=3, state=state)

        run(tmp_path, "right.jsonl", skip)
        (folder := tmp_path / f"states {skip}").mkdir()
        kill_during(run_once, "worker", folder, monkeypatch)
        found = (tmp_path / "matches.jsonl").read_bytes()
        assert found == (tmp_path / "right.jsonl").read_bytes()
        assert found.count(b"\n") > 500
        (tmp_path / "right.jsonl").unlink()
        (tmp_path / "matches.jsonl").unlink()
