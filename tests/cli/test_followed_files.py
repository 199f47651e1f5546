"""Jobs that follow files: killed while files grow and are rotated, they write each row once."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import process

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.slow

TABLE = (
    "CREATE TABLE t (n BIGINT{more}) WITH ('connector' = 'file', 'path' = '{path}',"
    " 'source.monitor-interval' = '20 ms'{options});"
)


def table(path: str, more: str = "", options: str = "") -> str:
    return TABLE.format(path=path, more=more, options=options)


def append(path: Path, *lines: str) -> None:
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def rows(*numbers: int) -> list[str]:
    return [f'{{"n":{number}}}' for number in numbers]


def said(run: subprocess.Popen[bytes], count: int) -> list[str]:
    assert run.stdout is not None
    return [run.stdout.readline().decode().strip() for _ in range(count)]


def interrupt(run: subprocess.Popen[bytes]) -> list[dict[str, object]]:
    """End a run; return the events that it has printed."""
    run.send_signal(signal.SIGINT)
    _, err = run.communicate()
    assert run.returncode == 130
    return [json.loads(line) for line in err.splitlines()]


def test_a_run_without_state_follows_files(tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text(table("*.jsonl") + "SELECT n FROM t;")
    file = tmp_path / "a.jsonl"
    append(file, *rows(1))
    with process("run", "--json", str(tmp_path / "job.sql")) as run:
        assert said(run, 1) == rows(1)
        append(file, *rows(2, 3))
        assert said(run, 2) == rows(2, 3)
        append(tmp_path / "b.jsonl", *rows(4))
        assert said(run, 1) == rows(4)
        interrupt(run)


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_files_that_are_removed_or_renamed_are_reported(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "job.sql").write_text(table("*.jsonl") + "SELECT n FROM t;")
    removed, renamed = (tmp_path / f"{name}.jsonl" for name in "ab")
    append(removed, *rows(1))
    with process("run", "--json", *flags, str(tmp_path / "job.sql")) as run:
        assert said(run, 1) == rows(1)
        with removed.open("a") as file:
            file.write('{"n":2}')
            file.flush()
            removed.unlink()
        assert said(run, 1) == rows(2)
        append(renamed, *rows(3))
        assert said(run, 1) == rows(3)
        renamed.rename(tmp_path / "b.old")
        append(renamed, *rows(4))
        assert said(run, 1) == rows(4)
        events = interrupt(run)
    assert [event["note"] for event in events if event["event"] == "input"] == [
        f'file "{removed}" was removed: its 15 bytes have been read',
        (
            f'file "{renamed}" was renamed: reading continues, and a new file of that name is read'
            " from its beginning"
        ),
    ]


def test_silence_of_files_closes_windows(tmp_path: Path) -> None:
    script = table(
        "a.jsonl", ", at TIMESTAMP, WATERMARK FOR at", ", 'idle' = '100 ms', 'max_ahead' = 'none'"
    )
    script += (
        "SELECT COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' SECOND))"
        " GROUP BY window_start, window_end;"
    )
    (tmp_path / "job.sql").write_text(script)
    append(tmp_path / "a.jsonl", '{"n":1,"at":"2020-01-01T00:00:00Z"}')
    with process("run", "--json", str(tmp_path / "job.sql")) as run:
        assert said(run, 1) == rows(1)
        interrupt(run)


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_job_that_is_killed_has_each_row_once(tmp_path: Path, flags: tuple[str, ...]) -> None:
    script = tmp_path / "job.sql"
    script.write_text(
        table("app.jsonl")
        + "CREATE TABLE w (n BIGINT) WITH ('connector' = 'file', 'path' = 'out.jsonl');"
        " INSERT INTO w SELECT n FROM t; SELECT n FROM t;"
    )
    file, number = tmp_path / "app.jsonl", 0
    append(file, *rows(number))
    for attempt in range(3):
        with process("run", "-q", "--state", str(tmp_path / "state"), *flags, str(script)) as run:
            assert run.stdout is not None
            while json.loads(run.stdout.readline())["n"] < number:
                pass
            for _ in range(2):
                append(file, *rows(number + 1))
                file.rename(tmp_path / f"app.{number}")
                append(tmp_path / f"app.{number}", *rows(number + 2))
                append(file, *rows(number + 3))
                number += 3
                while json.loads(run.stdout.readline())["n"] < number:
                    pass
            if attempt < 2:
                run.kill()
            else:
                run.send_signal(signal.SIGINT)
        append(file, *rows(number + 1))
        number += 1
    written = (tmp_path / "out.jsonl").read_text().splitlines()
    assert written == rows(*range(number))


def test_a_file_that_shrinks_stops_the_job(tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text(table("a.jsonl") + "SELECT n FROM t;")
    file = tmp_path / "a.jsonl"
    append(file, *rows(1, 2))
    with process("run", "-q", "--workers", "2", str(tmp_path / "job.sql")) as run:
        assert said(run, 2) == rows(1, 2)
        file.write_text("")
        _, err = run.communicate()
    assert run.returncode == 1
    assert err.decode().startswith(
        f'error[FSQL-E536]: file "{file}" cannot be followed from byte 16: it has 0 bytes now\n'
    )


@pytest.mark.parametrize(
    ("flags", "options", "message"),
    [
        (("--engine", "model"), "", 'table "t" follows files and has no end, and the model reads'),
        (
            (),
            ", 'format' = 'parquet'",
            "option 'source.monitor-interval' is not supported: files of format 'parquet'",
        ),
        (
            (),
            ", 'compression' = 'gzip'",
            "option 'source.monitor-interval' is not supported: compressed files cannot be followed",
        ),
    ],
)
def test_what_does_not_follow(
    tmp_path: Path, flags: tuple[str, ...], options: str, message: str
) -> None:
    (tmp_path / "job.sql").write_text(table("a.jsonl", options=options) + "SELECT n FROM t;")
    append(tmp_path / "a.jsonl", *rows(1))
    with process("run", "-q", *flags, str(tmp_path / "job.sql")) as run:
        _, err = run.communicate()
    assert run.returncode == 1
    assert err.decode().startswith(f"error[FSQL-E534]: {message}")


@pytest.mark.parametrize(
    "flags", [(), ("--state", "state"), ("--state", "state", "--workers", "2")]
)
def test_malformed_rows_have_file_line_and_byte(tmp_path: Path, flags: tuple[str, ...]) -> None:
    rejects = ", 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'"
    (tmp_path / "job.sql").write_text(table("in/*/*.jsonl", options=rejects) + "SELECT n FROM t;")
    (tmp_path / "stop.sql").write_text(table("in") + "SELECT n FROM t;")
    for name in "ab":
        (tmp_path / "in" / name).mkdir(parents=True)
    append(tmp_path / "in/a/log.jsonl", *rows(1), "bad")
    arguments = [str(tmp_path / each) if each == "state" else each for each in flags]
    with process("run", "-q", *arguments, str(tmp_path / "job.sql")) as run:
        assert said(run, 1) == rows(1)
        append(tmp_path / "in/b/log.jsonl", *rows(2), "worse")
        assert said(run, 1) == rows(2)
        append(tmp_path / "in/a/log.jsonl", "worst", *rows(3))
        assert said(run, 1) == rows(3)
        run.send_signal(signal.SIGINT)
    rejected = map(json.loads, (tmp_path / "rejects.jsonl").read_text().splitlines())
    assert [[each[name] for name in ("split", "row", "line", "byte")] for each in rejected] == [
        ["a/log.jsonl", 1, 2, 8],
        ["b/log.jsonl", 3, 2, 8],
        ["a/log.jsonl", 4, 3, 12],
    ]
    append(tmp_path / "in/c.jsonl", *rows(1), "bad")
    append(tmp_path / "in/b.jsonl", *rows(1))
    again = [each.replace("/state", "/other") for each in arguments]
    with process("run", "-q", *again, str(tmp_path / "stop.sql")) as run:
        _, err = run.communicate()
    assert err.decode() == (
        'error[FSQL-E511]: malformed row of table "t": expected a value at byte 0\n'
        f" --> {tmp_path}/in/c.jsonl:2 (byte 8)\n"
        "  = note: the line is bad\n"
        '  = note: the row is row 3 of table "t"\n'
        "  = note: 2 rows were released before the job stopped\n"
        "  = help: Correct the record, or set `'on_error' = 'reject'`.\n"
        "  = help: to skip such rows, set 'on_error' = 'reject' and 'rejects_path' = '…'\n"
    )


@pytest.mark.parametrize("flags", [(), ("--state", "state"), ("--workers", "2")])
def test_rows_whose_expressions_fail_have_file_line_and_byte(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "in").mkdir()
    append(tmp_path / "in/a.jsonl", *rows(1, 2))
    append(tmp_path / "in/b.jsonl", "", *rows(3), "", *rows(0, 4))
    arguments = [str(tmp_path / each) if each == "state" else each for each in flags]
    (tmp_path / "job.sql").write_text(table("in") + "SELECT 12 / n AS part FROM t;")
    with process("run", "-q", *arguments, str(tmp_path / "job.sql")) as run:
        out, err = run.communicate()
    assert out == b'{"part":12}\n{"part":6}\n{"part":4}\n'
    place = f"{tmp_path}/in/b.jsonl:4 (byte 10)"
    assert f'  = note: the row is row 4 of table "t", at {place}\n' in err.decode()
