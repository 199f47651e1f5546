"""Output files that are not empty, or that another job writes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from fsql.connectors.file import output_files
from fsql.connectors.file.output_files import locked_output
from fsql.tests.cli.commands import NUMBERS, fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

COPY = (
    NUMBERS
    + """CREATE TABLE copied (n BIGINT) WITH ('connector' = 'file', 'path' = 'copied.jsonl');
INSERT INTO copied SELECT n FROM numbers;
"""
)
ONE_PROCESS = pytest.param((), id="one process")
ways = pytest.mark.parametrize("flags", [ONE_PROCESS, on_workers("--workers", "2")])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n{"n":2}\n')
    (tmp_path / "job.sql").write_text(COPY)
    return tmp_path


def codes(err: str) -> list[str]:
    return re.findall(r"error\[FSQL-(\w+)\]", err)


@ways
def test_insert_overwrite_replaces_the_rows_of_its_table_only(
    folder: Path, flags: tuple[str, ...]
) -> None:
    other = "CREATE TABLE other WITH ('path' = 'other.jsonl') LIKE copied;\n"
    insert = "INSERT INTO other SELECT n FROM numbers;\n"
    overwrite = COPY.replace("INSERT INTO", "INSERT OVERWRITE")
    (folder / "job.sql").write_text(overwrite + other + insert)
    for name in ("copied.jsonl", "other.jsonl"):
        (folder / name).write_text('{"n":7}\n')
    said = fsql("run", "-q", *flags, folder / "job.sql")
    assert (said.code, codes(said.err)) == (1, ["E541"])
    said = fsql("run", "-q", "--append", *flags, folder / "job.sql")
    assert (said.code, said.err) == (0, "")
    assert (folder / "copied.jsonl").read_text() == '{"n":1}\n{"n":2}\n'
    assert (folder / "other.jsonl").read_text() == '{"n":7}\n{"n":1}\n{"n":2}\n'


@ways
def test_rows_that_are_there_are_not_replaced(folder: Path, flags: tuple[str, ...]) -> None:
    (folder / "copied.jsonl").write_text('{"n":7}\n')
    said = fsql("run", "-q", *flags, folder / "job.sql")
    assert (said.code, said.out) == (1, "")
    path = folder / "copied.jsonl"
    assert said.err == (
        f'error[FSQL-E541]: output "{path}" is not empty: it has 8 bytes\n'
        f" --> {folder / 'job.sql'}:2:69\n"
        "  |\n"
        "2 | CREATE TABLE copied (n BIGINT) WITH ('connector' = 'file', 'path' = 'copied.jsonl');\n"
        "  |                                                                     ^^^^^^^^^^^^^^\n"
        "  = help: --overwrite replaces them, --append adds rows after them\n"
        "  = help: or choose another path\n"
    )
    assert path.read_text() == '{"n":7}\n'


@ways
def test_rows_that_are_there_are_replaced_if_that_is_asked_for(
    folder: Path, flags: tuple[str, ...]
) -> None:
    for _ in range(2):
        assert fsql("run", "-q", "--overwrite", *flags, folder / "job.sql") == (0, "", "")
        assert (folder / "copied.jsonl").read_text() == '{"n":1}\n{"n":2}\n'


@ways
def test_rows_are_appended_if_that_is_asked_for(folder: Path, flags: tuple[str, ...]) -> None:
    for times in (1, 2):
        assert fsql("run", "-q", "--append", *flags, folder / "job.sql") == (0, "", "")
        assert (folder / "copied.jsonl").read_text() == '{"n":1}\n{"n":2}\n' * times


@ways
def test_nothing_is_appended_to_half_a_line(folder: Path, flags: tuple[str, ...]) -> None:
    (folder / "copied.jsonl").write_text('{"n":7}')
    said = fsql("run", "-q", "--append", *flags, folder / "job.sql")
    assert (said.code, codes(said.err)) == (1, ["E541"])
    assert (folder / "copied.jsonl").read_text() == '{"n":7}'


def test_both_flags_exclude_each_other(folder: Path) -> None:
    said = fsql("run", "--append", "--overwrite", folder / "job.sql")
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith("Error: --overwrite and --append cannot be used together\n")


@ways
def test_an_empty_file_is_as_good_as_none(folder: Path, flags: tuple[str, ...]) -> None:
    (folder / "copied.jsonl").touch()
    assert fsql("run", "-q", *flags, folder / "job.sql") == (0, "", "")
    assert (folder / "copied.jsonl").read_text() == '{"n":1}\n{"n":2}\n'


@ways
def test_the_summary_names_what_was_written(folder: Path, flags: tuple[str, ...]) -> None:
    path = folder / "copied.jsonl"
    said = fsql("run", *flags, folder / "job.sql")
    assert [line for line in said.err.splitlines() if "written" in line] == [
        f"  written       2 rows  16 B  {path}"
    ]
    said = fsql("run", "--json", "--append", *flags, folder / "job.sql")
    assert json.loads(said.err.splitlines()[-1])["outputs"] == [
        {
            "table": "copied",
            "option": "path",
            "target": str(path),
            "rows": 2,
            "path": str(path),
            "bytes": 32,
        }
    ]


@pytest.mark.cluster
@pytest.mark.slow
def test_a_job_goes_on_in_its_own_files(folder: Path) -> None:
    state = ("--state", folder / "state")
    for flags in ((), (), ("--overwrite",), ("--append",)):
        assert fsql("run", "-q", *state, *flags, folder / "job.sql") == (0, "", "")
        assert (folder / "copied.jsonl").read_text() == '{"n":1}\n{"n":2}\n'
    said = fsql("run", "-q", "--state", folder / "another", folder / "job.sql")
    assert (said.code, codes(said.err)) == (1, ["E541"])


@pytest.mark.cluster
@pytest.mark.slow
def test_journals_and_keys_are_for_their_owner_alone(folder: Path) -> None:
    state = folder / "state"
    state.mkdir(mode=0o755)  # it was there, so that its own permissions are not ours to set
    before = os.umask(0o022)
    try:
        assert fsql("run", "-q", "--state", state, folder / "job.sql") == (0, "", "")
    finally:
        os.umask(before)
    kept = [path for path in state.iterdir() if path.is_file()]
    kept += (state / "positions").iterdir()
    assert {"cluster.key", "job.json"} < {path.name for path in kept}
    assert any(path.suffix == ".journal" for path in kept)
    assert {path: oct(path.stat().st_mode & 0o777) for path in kept} == dict.fromkeys(kept, "0o600")
    folders = {
        path.name: oct(path.stat().st_mode & 0o777) for path in state.iterdir() if path.is_dir()
    }
    assert folders == dict.fromkeys(folders, "0o700")
    assert (folder / "copied.jsonl").stat().st_mode & 0o777 == 0o644


@pytest.mark.cluster
@pytest.mark.slow
def test_a_refused_start_does_not_bind_the_state_directory(folder: Path) -> None:
    (folder / "copied.jsonl").write_text('{"n":7}\n')
    state = ("--state", folder / "state")
    assert codes(fsql("run", "-q", *state, folder / "job.sql").err) == ["E541"]
    (folder / "job.sql").write_text(COPY.replace("SELECT n", "SELECT n + 1"))
    assert fsql("run", "-q", *state, "--overwrite", folder / "job.sql") == (0, "", "")
    assert (folder / "copied.jsonl").read_text() == '{"n":2}\n{"n":3}\n'


@pytest.mark.parametrize("side", ["rejects_path", "late_path"])
def test_side_outputs_are_kept_as_well(folder: Path, side: str) -> None:
    (folder / "side.jsonl").write_text("{}\n")
    dead_letter = ", 'on_error' = 'reject', 'rejects_path' = 'side.jsonl'" * (
        side == "rejects_path"
    )
    late = ", 'late_path' = 'side.jsonl'" * (side == "late_path")
    (folder / "job.sql").write_text(
        f"""CREATE TABLE numbers (n BIGINT, at TIMESTAMP, WATERMARK FOR at)
    WITH ('connector' = 'file', 'path' = 'numbers.jsonl'{dead_letter});
CREATE TABLE counted (c BIGINT) WITH ('connector' = 'file', 'path' = 'counted.jsonl'{late});
INSERT INTO counted SELECT COUNT(*) FROM TUMBLE(numbers, at, INTERVAL '1' SECOND)
GROUP BY window_start, window_end;
"""
    )
    said = fsql("run", "-q", folder / "job.sql")
    assert (said.code, codes(said.err)) == (1, ["E541"])
    assert (folder / "side.jsonl").read_text() == "{}\n"


@ways
def test_a_file_that_another_job_writes(folder: Path, flags: tuple[str, ...]) -> None:
    path = folder / "copied.jsonl"
    with locked_output(path):
        said = fsql("run", "-q", "--overwrite", *flags, folder / "job.sql")
        path.write_text("their rows\n")
    assert (said.code, said.out) == (1, "")
    first, *_ = said.err.splitlines()
    assert first == (
        f'error[FSQL-E540]: output "{path}" is being written by another job, process {os.getpid()}'
    )
    assert path.read_text() == "their rows\n"
    assert fsql("run", "-q", "--overwrite", *flags, folder / "job.sql") == (0, "", "")


HOLDER = """
import os, sys, time
from pathlib import Path
from fsql.connectors.file.output_files import locked_output
with locked_output(Path(sys.argv[1])) as lock:
    if os.fork():
        os._exit(0)
    os.write(1, b"locked\\n")
    os.read(0, 1)
"""


def test_processes_of_a_run_whose_launcher_was_killed_are_waited_for(folder: Path) -> None:
    """They end by themselves, shortly after the launcher, and have the lock until then."""
    path = folder / "copied.jsonl"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdin is not None
        assert launcher.stdout.readline() == b"locked\n"
        launcher.wait()
        launcher.stdin.close()  # its child ends, now or a moment later
        assert fsql("run", "-q", folder / "job.sql") == (0, "", "")


def test_a_lock_that_is_released_before_its_holder_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    with ExitStack() as first:
        first.enter_context(locked_output(path))

        def holder(_: int) -> None:
            first.close()

        monkeypatch.setattr(output_files, "_holder", holder)
        with locked_output(path) as descriptor:
            assert descriptor is not None


ENDLESS = """CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'rate' = '10');
CREATE TABLE copied (line STRING) WITH ('connector' = 'file', 'path' = 'copied.jsonl');
INSERT INTO copied SELECT line FROM lines;
"""


@pytest.mark.cluster
@pytest.mark.slow
def test_a_running_job_keeps_others_from_its_files(folder: Path) -> None:
    (folder / "endless.sql").write_text(ENDLESS)
    command = [sys.executable, "-P", "-m", "fsql", "run", "--json", "--state", str(folder / "one")]
    with subprocess.Popen(
        [*command, str(folder / "endless.sql")], stderr=subprocess.PIPE
    ) as running:
        assert running.stderr is not None
        assert json.loads(running.stderr.readline())["event"] == "phase"
        said = fsql("run", "-q", "--overwrite", folder / "job.sql")
        running.send_signal(signal.SIGINT)
        running.stderr.read()
        assert running.wait() == 130
    assert (said.code, codes(said.err)) == (1, ["E540"])
    assert f"another job, process {running.pid}\n" in said.err


def test_a_last_line_without_an_end_is_removed_by_the_command_of_the_error(folder: Path) -> None:
    copied = folder / "copied.jsonl"
    copied.write_text('{"n":7}\n{"n":')
    said = fsql("run", "-q", "--append", folder / "job.sql")
    command = f"truncate -s 8 {copied}"
    assert (said.code, codes(said.err)) == (1, ["E541"])
    assert f"  = help: complete that line, or remove it: {command}\n" in said.err
    subprocess.run(shlex.split(command), check=True)
    assert fsql("run", "-q", "--append", folder / "job.sql").code == 0
    assert copied.read_text() == '{"n":7}\n{"n":1}\n{"n":2}\n'
