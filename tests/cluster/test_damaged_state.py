"""A job whose state was damaged while it was down: it resumes from an older snapshot, or says what to do."""

from __future__ import annotations

import random
import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fsql.console.snapshots import inspect
from fsql.runtime.state.rocks import RocksStore
from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import difference, prefixes, script, wait_until
from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)


def tables(state: Path) -> list[Path]:
    """Return the tables of all stores that have anything in them."""
    return [path for path in sorted(state.glob("worker-*/*.sst")) if path.stat().st_size]


def damage_newest(state: Path) -> str:
    """Flip a bit of a table that only the newest snapshot needs; return its number."""
    for table in sorted(tables(state), key=lambda path: path.name, reverse=True):
        flip(table, 30)
        newest, *older = inspect(state, verify=True)
        if not newest.restorable and any(each.restorable for each in older):
            return str(newest.number)
        flip(table, 30)
    raise AssertionError("each table is needed by all snapshots, or by none")


def damage_unneeded(state: Path) -> None:
    """Add a table that no snapshot needs, whose keys are around all others, and flip a bit in it.

    Its filter may take a needed key for one of its own; then another one is tried.
    """
    for number in range(10):
        before = set(tables(state))
        with closing(RocksStore(state / "worker-0")) as store:
            store.put({f"0{number}": b"needed by no snapshot", f"~{number}": b"nor this"})
        [added] = set(tables(state)) - before
        flip(added, 10)
        if all(each.restorable for each in inspect(state, verify=True)):
            return
        flip(added, 10)
    raise AssertionError("every filter takes needed keys for its own")


def run_until_it_is_killed(twin: Twin) -> None:
    """Run until there are several snapshots, and end it as a loss of power does."""
    twin.start(2)
    wait_until(twin.advances, "output")
    wait_until(lambda: len(list((twin.state / "snapshots").glob("*.json"))) >= 2, "snapshots")
    twin.end(signal.SIGKILL)


def fsql(*arguments: str | Path) -> tuple[int, str]:
    done = run_command(map(str, arguments), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def check_continues(twin: Twin, directory: Path) -> None:
    """Let the job go on until it has written more; check all that it has written."""
    twin.start(2)
    wait_until(twin.advances, "output")
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    right = prefixes(directory, lambda count: script(None, count), twin.written())
    assert difference(twin.written(), right) == ""


def test_a_job_resumes_from_the_snapshot_before_a_damaged_one_and_says_so(
    new_twin: Callable[[int], Twin], tmp_path: Path
) -> None:
    twin = new_twin(ENDLESS)
    run_until_it_is_killed(twin)
    number = damage_newest(twin.state)
    code, said = fsql("snapshot", "verify", "--state", twin.state)
    assert code == 1
    assert f"error[FSQL-E612]: snapshot {number} is damaged" in said
    check_continues(twin, tmp_path / "right")
    assert f"warning: snapshot {number} (" in twin.errors()
    assert "the job resumes from an older one" in twin.errors()


def test_a_job_without_a_whole_snapshot_ends_and_names_store_and_remedy(
    new_twin: Callable[[int], Twin],
) -> None:
    """Following the remedies leads to an end: to begin anew, where nothing can be saved."""
    twin = new_twin(ENDLESS)
    run_until_it_is_killed(twin)
    chance = random.Random(5)
    for table in tables(twin.state):
        flip(table, chance.randrange(8, 60))
    for attempt in range(2):
        twin.start(2)
        assert twin.ended() == 1
        assert twin.errors().count("error[FSQL-E612]: snapshot ") == attempt + 1
        assert f"store: {twin.state}/worker-" in twin.errors()
        salvage = ("snapshot", "salvage", "--state", str(twin.state))
        assert f"fsql {' '.join(salvage)}\n" in twin.errors()
        code, said = fsql(*salvage)
        assert code == 0, said
        assert "worker 0: 0 of " in said
        anew = "restore the directory from a backup, or start with an empty one"
        assert f"no snapshot can be restored: {anew}" in said


def test_a_store_that_damage_keeps_from_being_written_is_left(
    new_twin: Callable[[int], Twin], tmp_path: Path
) -> None:
    """The damage is in a table that no snapshot needs; RocksDB meets it once it merges tables."""
    twin = new_twin(ENDLESS)
    run_until_it_is_killed(twin)
    damage_unneeded(twin.state)
    found = inspect(twin.state, verify=True)
    assert [(each.restorable, each.error is not None) for each in found] == [(True, True)] * 2
    twin.start(2)
    in_place = "a store in place of the damaged one"
    wait_until(lambda: not twin.running() or any(twin.state.glob("worker-0.*")), in_place)
    assert twin.running(), twin.errors()
    twin.end(signal.SIGINT)
    check_continues(twin, tmp_path / "right")


def test_salvaged_stores_are_continued(new_twin: Callable[[int], Twin], tmp_path: Path) -> None:
    """What is left of stores whose newest table is lost is the older snapshot, which is whole."""
    twin = new_twin(ENDLESS)
    run_until_it_is_killed(twin)
    damage_newest(twin.state)
    code, said = fsql("snapshot", "salvage", "--state", twin.state)
    assert code == 0, said
    assert "start the job: it resumes from snapshot " in said
    check_continues(twin, tmp_path / "right")
    code, said = fsql("snapshot", "verify", "--state", twin.state)
    assert code == 0, said
