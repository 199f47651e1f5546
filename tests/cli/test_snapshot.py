"""`fsql snapshot`: what it says of snapshots that are in order, damaged, or not there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.coordination.embedded import FILE
from fsql.runtime.state.local_directory import local_snapshots, worker_directory
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.salvage import salvage
from fsql.tests.cli.commands import fsql
from fsql.tests.docs.state_errors import remove_segment
from fsql.tests.unit.state.directories import make_state, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLES = "snapshot  epoch  workers  segments  rows     size  position\n"
RESTORE = "restore the directory from a backup, or start with an empty one: all input is read again"

KILLED = """
import os, pathlib, sys
from fsql.runtime.coordination.embedded import EmbeddedCoordination
EmbeddedCoordination(pathlib.Path(sys.argv[1]), create=False).open_session(1.0)
os._exit(0)
"""


@pytest.fixture(name="state")
def state_directory(tmp_path: Path) -> Path:
    make_state(tmp_path / "state")
    return tmp_path / "state"


def test_snapshots_are_listed(state: Path) -> None:
    assert fsql("snapshot", "list", "--state", state) == (
        0,
        TITLES
        + "       7      5        2         8    28  5.9 KiB   2000/-1  newest\n"
        + "       6      5        2         4    18  3.0 KiB   1000/-1\n",
        "",
    )
    assert fsql("snapshot", "list", "--state", state, "--quiet") == (0, "", "")


@contextmanager
def as_somebody_else(state: Path) -> Iterator[None]:
    """Let nobody write the state, and be nobody in particular: root may write whatever it is told."""
    for path in (*state.rglob("*"), state):
        path.chmod(0o555 if path.is_dir() else 0o444)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65_534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)
        for path in (state, *state.rglob("*")):
            path.chmod(0o755)


@pytest.mark.parametrize("killed", [False, True])
def test_who_lists_snapshots_needs_only_to_read(*, killed: bool) -> None:
    """A coordinator that was killed leaves a write-ahead log behind."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        state = Path(directory) / "state"
        make_state(state)
        shown = fsql("snapshot", "list", "--state", state)
        if killed:
            subprocess.run([sys.executable, "-c", KILLED, state / FILE], check=True)
            assert (state / f"{FILE}-wal").stat().st_size
        names = sorted(state.rglob("*"))
        with as_somebody_else(state):
            assert fsql("snapshot", "list", "--state", state) == shown
        assert shown.code == 0
        assert sorted(state.rglob("*")) == names


def test_snapshots_are_verified(state: Path) -> None:
    local_snapshots(state).write(manifest(8, ()))
    assert fsql("snapshot", "verify", "--state", state) == (
        0,
        TITLES
        + "       8      5        2         0     0      0 B   3000/-1  not committed, verified\n"
        + "       7      5        2         8    28  5.9 KiB   2000/-1  newest, verified\n"
        + "       6      5        2         4    18  3.0 KiB   1000/-1  verified\n",
        "",
    )


def test_a_damaged_manifest_is_named_with_what_to_do(state: Path) -> None:
    path = local_snapshots(state).path(7)
    path.write_bytes(path.read_bytes()[:100])
    said = fsql("snapshot", "list", "--state", state)
    assert (said.code, said.out) == (
        1,
        TITLES
        + "       7      ?        ?         ?     ?        ?         ?  newest, damaged\n"
        + "       6      5        2         4    18  3.0 KiB   1000/-1\n",
    )
    assert said.err == (
        "error[FSQL-E611]: snapshot 7 is damaged: its hash does not match\n"
        f"  = note: manifest: {path}\n"
        f"  = help: see what can be restored: fsql snapshot verify --state {state}\n"
    )
    said = fsql("snapshot", "verify", "--state", state)
    assert said.code == 1
    assert said.err.endswith("  = help: start the job: it resumes from snapshot 6\n")
    local_snapshots(state).path(6).unlink()
    said = fsql("snapshot", "verify", "--state", state)
    assert said.err.endswith(f"  = help: {RESTORE}\n")


def test_a_damaged_record_is_named_with_its_store(state: Path) -> None:
    key = remove_segment(state)
    assert fsql("snapshot", "list", "--state", state).code == 0
    said = fsql("snapshot", "verify", "--state", state)
    assert said.code == 1
    assert said.out.splitlines()[1].endswith("  newest, damaged")
    assert said.err == (
        f'error[FSQL-E612]: snapshot 7 is damaged: state segment "{key}" of worker 1:'
        " it is missing from the store\n"
        f"  = note: manifest: {local_snapshots(state).path(7)}\n"
        f"  = note: store: {state / 'worker-1'}\n"
        "  = note: operator: join/2\n"
        "  = help: first replace the damaged store:"
        f" fsql snapshot salvage --state {state}\n"
        "  = help: start the job: it resumes from snapshot 6\n"
    )


def test_a_damaged_store_is_replaced_by_what_is_whole_of_it(state: Path) -> None:
    directory = state / "worker-1"
    (_, table) = sorted(directory.glob("*.sst"))
    table.write_bytes(b"x" * 100 + table.read_bytes()[100:])
    assert fsql("snapshot", "verify", "--state", state).code == 1
    store = RocksStore(worker_directory(state, 0))
    said = fsql("snapshot", "salvage", "--state", state)
    store.close()
    assert said == (
        0,
        (
            f"worker 1: 2 of 4 state segments are intact; damaged: {state / 'worker-1.damaged-1'}\n"
            "start the job: it resumes from snapshot 6\n"
        ),
        "",
    )
    said = fsql("snapshot", "verify", "--state", state)
    assert [line.split()[-1] for line in said.out.splitlines()[1:]] == ["damaged", "verified"]
    assert "start the job: it resumes from snapshot 6" in said.err
    with closing(RocksStore(directory)) as store:
        for number in range(20):
            store.put({f"{number}": b"x" * 1000})
            store.remove([f"{number - 1}"])
        assert len(store.keys()) == 3


def test_a_store_in_use_is_not_replaced(state: Path) -> None:
    remove_segment(state)
    program = (
        "import sys, pathlib; from fsql.runtime.state.rocks import RocksStore;"
        " store = RocksStore(pathlib.Path(sys.argv[1])); print(); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(state / "worker-1")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        said = fsql("snapshot", "salvage", "--state", state)
        holder.kill()
    assert said.code == 1
    assert said.err == (
        "error[FSQL-E612]: the store of worker 1 cannot be salvaged:"
        f' "{state / "worker-1"}" is in use by another process\n'
    )
    assert sorted(path.name for path in state.glob("worker-1*")) == ["worker-1"]


def test_a_salvage_that_was_cut_short_goes_on(state: Path) -> None:
    remove_segment(state)
    salvage(state, 1, local_snapshots(state).referenced_keys(1))
    (state / "worker-1").rename(state / "worker-1.salvaged")
    said = fsql("snapshot", "salvage", "--json", "--state", state)
    (replaced,) = json.loads(said.out)["replaced"]
    assert (replaced["worker"], replaced["whole"], replaced["named"]) == (1, 3, 4)
    assert fsql("snapshot", "verify", "--state", state).out.count("verified") == 1


def test_where_nothing_is_damaged_nothing_is_replaced(state: Path) -> None:
    assert fsql("snapshot", "salvage", "--state", state) == (0, "no store is damaged\n", "")


def test_json(state: Path) -> None:
    local_snapshots(state).path(6).write_bytes(b"")
    code, out, err = fsql("snapshot", "verify", "--json", "--state", state)
    assert code == 1
    found = json.loads(out)
    newest, older = found["snapshots"]
    documented = fsql("snapshot", "list", "--help")[1]
    assert {*found, *newest} <= set(re.findall(r'"(\w+)"', documented))
    assert newest == {
        "snapshot": 7,
        "status": "newest",
        "ok": True,
        "reason": None,
        "job": "golden",
        "epoch": 5,
        "position": [2000, -1],
        "workers": 2,
        "segments": 8,
        "rows": 28,
        "bytes": newest["bytes"],
    }
    assert older == {
        "snapshot": 6,
        "status": "older",
        "ok": False,
        "reason": "its hash does not match",
    }
    (line,) = err.splitlines()
    assert [each["code"] for each in json.loads(line)["diagnostics"]] == ["FSQL-E611"]


def test_a_directory_of_a_job_that_has_no_snapshot_yet(state: Path) -> None:
    shutil.rmtree(state)
    make_state(state)
    shutil.rmtree(state / "snapshots")
    said = fsql("snapshot", "list", "--state", state)
    assert said.code == 1
    assert said.err.startswith("error[FSQL-E611]: snapshot 7 is damaged: it is missing\n")


def test_what_is_no_state_directory_is_told(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    said = fsql("snapshot", "list", "--state", missing)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f'error[FSQL-E614]: "{missing}" cannot be read: No such file or directory\n'
    )
    said = fsql("snapshot", "verify", "--state", tmp_path)
    assert said.err == f'error[FSQL-E614]: directory "{tmp_path}" holds no state of a job\n'
    (tmp_path / "file").write_bytes(b"")
    said = fsql("snapshot", "list", "--state", tmp_path / "file")
    assert said.err.endswith("cannot be read: Not a directory\n")


def test_a_directory_that_may_not_be_read_is_told(state: Path) -> None:
    root = os.geteuid() == 0
    fsql("snapshot", "list", "--state", state)  # imports what somebody else may not read
    state.chmod(0o000)
    if root:
        os.seteuid(65534)
    try:
        said = fsql("snapshot", "list", "--state", state)
    finally:
        if root:
            os.seteuid(0)
        state.chmod(0o755)
    assert said == (1, "", f'error[FSQL-E614]: "{state}" cannot be read: Permission denied\n')


def test_without_the_coordination_file_no_snapshot_counts(state: Path) -> None:
    path = state / "coordination.sqlite"
    path.write_bytes(b"not SQLite" * 1000)
    said = fsql("snapshot", "list", "--state", state)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f'error[FSQL-E615]: the coordination file "{path}" is damaged: file is not a database\n'
        f"  = help: {RESTORE}\n"
    )
    path.unlink()
    said = fsql("snapshot", "verify", "--state", state)
    assert said.err.startswith(f'error[FSQL-E615]: the coordination file "{path}" is missing\n')


def test_the_state_has_to_be_named() -> None:
    assert fsql("snapshot", "list").code == 2
    assert fsql("snapshot").code == 2
