"""Runs on a disk that gets full: it is said, no output ends in half a row, and the next run is complete.

All processes of a run import a module by which files in one directory have a maximum length; writes beyond
it end as on a full disk.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from fsql.tests.cli.commands import COMMAND, fsql

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

BYTES_MAX: Final = 50_000
FULL_DISK: Final = """
import errno, os

def until_full(write):
    def written(descriptor, data, *offset):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if path.startswith({path!r}):
            start = offset[0] if offset else os.fstat(descriptor).st_size
            data = memoryview(data).cast("B")[: max({bytes_max} - start, 0)]
            if not data:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data, *offset)
    return written

os.write, os.pwrite = until_full(os.write), until_full(os.pwrite)
"""
WORDS = """CREATE TABLE lines (id BIGINT, line STRING) WITH (
    'connector' = 'words', 'count' = '3000', 'words_per_line' = '9'
);
"""
REJECTS = """CREATE TABLE bad (n BIGINT) WITH (
    'connector' = 'file', 'path' = 'bad.jsonl', 'on_error' = 'reject', 'rejects_path' = '{path}'
);
SELECT n FROM bad;
"""
LATE = """CREATE TABLE late (n BIGINT, at TIMESTAMP, WATERMARK FOR at) WITH (
    'connector' = 'file', 'path' = 'late.jsonl'
);
CREATE TABLE counts (n BIGINT) WITH ('connector' = 'blackhole', 'late_path' = '{path}');
INSERT INTO counts SELECT COUNT(*)
FROM TABLE(TUMBLE(TABLE late, DESCRIPTOR(at), INTERVAL '1' SECOND)) GROUP BY window_start, window_end;
"""


def on_full_disk(
    tmp_path: Path, disk: Path, *arguments: str, bytes_max: int = BYTES_MAX
) -> subprocess.Popen[str]:
    """Start a run in which no file in `disk` may be longer."""
    modules = tmp_path / "modules"
    modules.mkdir()
    text = FULL_DISK.replace("{path!r}", repr(f"{disk}/")).replace("{bytes_max}", str(bytes_max))
    (modules / "sitecustomize.py").write_text(text)
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(modules)},
    )


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    path.mkdir()
    return path


def copy(path: str, options: str = "") -> str:
    return (
        f"{WORDS}CREATE TABLE copies (id BIGINT, line STRING)"
        f" WITH ('connector' = 'file', 'path' = '{path}'{options});\n"
        "INSERT INTO copies SELECT id, line FROM lines;\n"
    )


def bad_and_late(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("".join(f"bad {number}\n" for number in range(2000)))
    rows = ['{"n":0,"at":"2020-01-02T00:00:00Z"}\n', '{"n":1,"at":"2020-01-01T00:00:00Z"}\n' * 2000]
    (folder / "late.jsonl").write_text("".join(rows))


LINES = "it has whole rows only, "
PARTS = "the files that it has are whole"


@pytest.mark.parametrize(
    ("script", "note"),
    [
        (copy("{path}"), LINES),
        (copy("{path}", ", 'format' = 'csv'"), LINES),
        (copy("{path}", ", 'compression' = 'gzip'").replace("3000", "30000"), LINES),
        (copy("{path}", ", 'format' = 'parquet'").replace("3000", "30000"), PARTS),
        (copy("{path}", ", 'format' = 'avro'").replace("3000", "30000"), PARTS),
        (REJECTS, LINES),
        (LATE, LINES),
    ],
    ids=["json", "csv", "gzip", "parquet", "avro", "rejects", "late"],
)
def test_an_output_has_whole_rows_and_the_remedy_completes_it(
    tmp_path: Path, disk: Path, script: str, note: str
) -> None:
    bad_and_late(tmp_path)
    output, expected = disk / "out", tmp_path / "expected"
    for path in (output, expected):
        (tmp_path / f"{path.name}.sql").write_text(script.replace("{path}", str(path)))
    with on_full_disk(tmp_path, disk, "run", "--json", str(tmp_path / "out.sql")) as run:
        _, err = run.communicate()
    [error] = next(
        event["diagnostics"]
        for event in map(json.loads, err.splitlines())
        if event["event"] == "diagnostics" and event["diagnostics"][0]["code"].startswith("FSQL-E")
    )
    assert (run.returncode, error["code"], error["message"]) == (
        1,
        "FSQL-E535",
        f'writing "{output}" failed: no space left on device',
    )
    assert error["notes"][0].startswith(note)
    assert error["helps"] == ["free space on its disk, and run it again with --overwrite"]
    assert fsql("run", "-q", tmp_path / "expected.sql").code == 0
    if expected.is_file():
        # Only whole rows; compressed ones are whole members.
        assert expected.read_bytes().startswith(output.read_bytes()) or "gzip" in script
        if "gzip" not in script:
            assert output.read_bytes()[-1:] in {b"", b"\n"}
    else:
        assert list(output.iterdir()) == []
    said = fsql("run", "-q", "--overwrite", tmp_path / "out.sql")
    assert (said.code, said.err) == (0, "")
    assert content(output) == content(expected)


def content(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.iterdir())
    return {"" if each == path else each.name: each.read_bytes() for each in files}


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_job_that_keeps_state_waits_for_space_and_cuts_half_a_row(
    tmp_path: Path, disk: Path, flags: tuple[str, ...]
) -> None:
    output, state = disk / "out", tmp_path / "state"
    (tmp_path / "out.sql").write_text(copy(str(output)))
    (tmp_path / "expected.sql").write_text(copy("expected"))
    command = ("run", "--state", str(state), *flags)
    with on_full_disk(tmp_path, disk, *command, str(tmp_path / "out.sql")) as run:
        assert run.stderr is not None
        full = (
            f'writing "{output}": No space left on device; until there is space, its last row may be'
            " incomplete"
        )
        while full not in (line := run.stderr.readline()):
            assert line
        run.send_signal(signal.SIGINT)
        run.communicate()
    assert output.read_bytes()[-1:] != b"\n"
    assert fsql(*command, "-q", tmp_path / "out.sql").code == 0
    assert fsql("run", "-q", tmp_path / "expected.sql").code == 0
    assert output.read_text() == (tmp_path / "expected").read_text()


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_state_directory_without_space_is_refused_until_there_is_some(
    tmp_path: Path, disk: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "out.sql").write_text(copy("out"))
    command = ("run", "-q", "--state", str(disk / "state"), *flags, str(tmp_path / "out.sql"))
    with on_full_disk(tmp_path, disk, *command, bytes_max=0) as run:
        _, err = run.communicate()
    assert run.returncode == 1
    assert err == (
        f'error[FSQL-E602]: the key "{disk}/state/cluster.key" cannot be used: no space left on device\n'
        "  = help: free space on its disk, or correct the permissions of its directory\n"
    )
    said = fsql(*command)
    assert (said.code, said.err) == (0, "")
    assert len((tmp_path / "out").read_text().splitlines()) == 3000
