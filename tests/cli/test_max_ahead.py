"""`max_ahead` in files at rest, and the row that moved the watermark most."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.text.source import SourceText
from fsql.connectors.file.look_ahead import LookAheadSplit
from fsql.job.compilation import compile_job
from fsql.job.script import Script
from fsql.job.sources import open_splits
from fsql.runtime.dataflow.front import Front
from fsql.runtime.ports import Chunk
from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCRIPT = """\
CREATE TABLE t (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' MINUTE)
    WITH ('connector' = 'file', 'path' = 't.jsonl'{options});
CREATE TABLE o WITH ('connector' = 'file', 'path' = 'o.jsonl')
AS SELECT window_end, COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '1' HOUR) GROUP BY window_start, window_end;
"""
REJECT = ", 'max_ahead' = '1 h', 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'"
REASON = "is ahead of the rows before and after it by more than 'max_ahead' allows"


def write(folder: Path, options: str, times: Sequence[str]) -> Path:
    """Write the script, and the file with rows of these times; return the script."""
    rows = [json.dumps({"id": number, "at": time}) for number, time in enumerate(times)]
    (folder / "t.jsonl").write_text("".join(row + "\n" for row in rows))
    (folder / "job.sql").write_text(SCRIPT.format(options=options))
    return folder / "job.sql"


def minutes(*values: int | str) -> list[str]:
    """Return times of one day: of its minutes, or given."""
    return [
        f"2026-09-13T{value // 60:02}:{value % 60:02}:00Z" if isinstance(value, int) else value
        for value in values
    ]


@pytest.mark.parametrize(
    "flags",
    [(), on_workers("--workers=3"), ("--engine=model",)],
    ids=["one process", "processes", "model"],
)
@pytest.mark.parametrize("future", ["2026-09-14T10:00:00Z", "2199-01-01T00:00:00Z"])
def test_a_row_of_the_future_makes_no_row_late(
    tmp_path: Path, future: str, flags: tuple[str, ...]
) -> None:
    script = write(tmp_path, REJECT, minutes(0, 30, future, 31, 70, 80))
    code, _, err = fsql("run", "--json", script, *flags)
    summary = json.loads(err.splitlines()[-1])
    assert (code, summary["rows_late"], summary["rows_rejected"]) == (0, 0, 1)
    assert (tmp_path / "o.jsonl").read_text() == (
        '{"window_end":"2026-09-13T01:00:00Z","n":3}\n{"window_end":"2026-09-13T02:00:00Z","n":2}\n'
    )
    rejected = json.loads((tmp_path / "rejects.jsonl").read_text())
    assert (rejected["row"], rejected["code"]) == (2, "FSQL-E522")
    assert summary["late_cause"] is None


def test_without_on_error_the_row_is_an_error(tmp_path: Path) -> None:
    script = write(tmp_path, ", 'max_ahead' = '1 h'", minutes(0, "2026-09-14T10:00:00Z", 1))
    code, _, err = fsql("run", "-q", script)
    assert code == 3
    assert (
        f'error[FSQL-E522]: malformed row of table "t": the event time 2026-09-14T10:00:00Z {REASON}'
        in err
    )


@pytest.mark.parametrize(
    ("times", "rejected"),
    [
        (("2199-01-01T00:00:00Z", 0, 1, 2), [0]),
        ((0, 1, 600, 601, 602), []),  # a gap
        ((0, 1, 600, 2, 601, 602), []),  # a gap, and a row of before it
        ((0, 600, 601, 602, 1, 2, 3, 4, 5), [1, 2, 3]),
        ((0, 600, 1, 601, 2, 602, 3, 603, 4), [1, 3, 5, 7]),
        ((0, 1, 600), []),  # nothing is late for it
        ((0, 60, 0), []),  # by no more than that
        ((0, 61, 0), [1]),
    ],
)
def test_rows_that_are_ahead(
    tmp_path: Path, times: tuple[int | str, ...], rejected: list[int]
) -> None:
    script = write(tmp_path, REJECT, minutes(*times))
    assert fsql("run", "-q", script).code == 0
    lines = (tmp_path / "rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["row"] for line in lines] == rejected


def test_a_gzipped_or_parquet_file_with_metadata_is_read_ahead_too(tmp_path: Path) -> None:
    script = write(tmp_path, REJECT, minutes(0, 600, 1, 2))
    text = script.read_text().replace("id BIGINT,", "id BIGINT, file STRING METADATA, at0 AS at,")
    script.write_text(text)
    assert fsql("run", "-q", script).code == 0
    assert json.loads((tmp_path / "rejects.jsonl").read_text())["row"] == 1


def test_which_rows_are_ahead_does_not_depend_on_chunks(tmp_path: Path) -> None:
    for seed in range(20):
        random = Random(seed)
        values: list[int | str] = [
            random.choice((0, 0, 0, 400, 700)) + random.randrange(50) for _ in range(60)
        ]
        script = write(tmp_path, REJECT, minutes(*values))
        compiled = compile_job(Script(SourceText("job.sql", script.read_text()), {}, tmp_path))
        [table] = compiled.job.tables
        [split] = open_splits(compiled)[table.ordinal]
        assert isinstance(split, LookAheadSplit)
        found = []
        for rows_max in (1, 3, 17, 1000):
            front, reader = Front(0, table, 0), split.open()
            rejected: list[int] = []
            while True:
                before = reader.source_offset()
                chunk = reader.read(rows_max)
                if chunk is None:
                    break
                assert isinstance(chunk, Chunk)
                assert before.row == front.next_row
                _, dead_letters = front.take(chunk, before)
                rejected += [letter.row for _, letter in dead_letters]
            found.append(rejected)
        assert found[0]
        assert found == [found[0]] * 4, seed


@pytest.mark.parametrize("flags", [(), on_workers("--workers=2")], ids=["one process", "processes"])
def test_the_summary_names_the_row_that_moved_the_watermark_most(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    script = write(tmp_path, "", minutes(0, 1, "2026-09-14T10:00:00Z", 2, 3))
    code, _, err = fsql("run", script, *flags)
    assert code == 0
    assert (
        '  the watermark was moved most by row 3 of "t.jsonl" in table "t", dated 2026-09-14T10:00:00Z:'
        " a later row is of 2026-09-13T00:02:00Z\n"
    ) in err
    (tmp_path / "o.jsonl").unlink()
    _, _, err = fsql("run", "--json", script, *flags)
    assert json.loads(err.splitlines()[-1])["late_cause"] == {
        "table": "t",
        "split": "t.jsonl",
        "row": 2,
        "time": "2026-09-14T10:00:00Z",
        "later_time": "2026-09-13T00:02:00Z",
    }


def test_if_no_row_is_late_none_is_named(tmp_path: Path) -> None:
    script = write(tmp_path, "", minutes(0, 2, 1))
    assert "watermark" not in fsql("run", script).err
