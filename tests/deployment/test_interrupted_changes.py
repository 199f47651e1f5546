"""A change of a plan that is interrupted at any of its steps leaves the old plan or the new one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from fsql.job import graph_tick
from fsql.job.compilation import compile_job
from fsql.job.description import parse_description, plan_digest
from fsql.job.graph_diff import StateChange
from fsql.job.graph_tick import (
    change_plan,
    complete_change,
    frozen_ordinals,
    newest_manifest,
    with_ordinals,
)
from fsql.job.script_file import read_script
from fsql.runtime.hosts.job_state import JobState
from fsql.tests.cluster.twin import script

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.hosts.ports import Steps
    from fsql.tests.deployment.cluster import TestCluster

pytestmark = pytest.mark.cluster


class CrashError(Exception):
    """The process ends here."""


@pytest.fixture
def drained(cluster: TestCluster, tmp_path: Path) -> Path:
    """Return the state directory of a job that was drained."""
    path = tmp_path / "job.sql"
    path.write_text(script(400, None))
    cluster.call("deploy", path, "-w", "2")
    cluster.wait_for_snapshot("job")
    cluster.call("stop", "job", "--drain")
    [job] = list(cluster.directory.jobs())
    return job.state


def change(state: Path, path: Path) -> tuple[str, str]:
    """Change the plan; return the digests of the plan before and of the new one."""
    begun = parse_description((state / "job.json").read_bytes())
    compiled = with_ordinals(compile_job(read_script(str(path), {})), frozen_ordinals(begun))
    change_plan(state, begun, compiled, begun, StateChange.KEEP)
    return begun.plan, plan_digest(compiled)


def plans(state: Path) -> tuple[str, str]:
    """Return the plan that the state directory is of, and that of its newest snapshot."""
    complete_change(state)
    manifest = newest_manifest(state)
    assert manifest is not None
    assert not list(state.glob("*.next"))
    return parse_description((state / "job.json").read_bytes()).plan, manifest.graph


def crash(*_: object) -> None:
    raise CrashError


def crash_at_commit(number: int) -> Callable[[JobState, Manifest], Steps[object]]:
    """Return a commit that does not come back from its call of that number."""
    commit, calls = JobState.commit, iter(range(100))

    def committed(state: JobState, manifest: Manifest) -> Steps[object]:
        call = next(calls)
        if call == number:
            raise CrashError
        return (yield from commit(state, manifest))

    return committed


def test_each_step(drained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "changed.sql"
    path.write_text(script(400, None).replace("UPPER", "LOWER"))
    # Without a crash first, in a copy: the digests.
    copy = tmp_path / "copy"
    shutil.copytree(drained, copy)
    old, new = change(copy, path)
    assert plans(copy) == (new, new)
    assert old != new
    steps = [
        ("before the files", graph_tick, "_write_next", crash, old),
        ("before the commit", JobState, "commit", crash_at_commit(0), old),
        ("between the commits", JobState, "commit", crash_at_commit(1), new),
        ("before the files are in place", graph_tick, "complete_change", crash, new),
        ("before journals are removed", graph_tick, "_remove_journals", crash, new),
    ]
    for name, owner, attribute, replacement, plan in steps:
        shutil.rmtree(copy)
        shutil.copytree(drained, copy)
        with monkeypatch.context() as patch:
            patch.setattr(owner, attribute, replacement)
            with pytest.raises(CrashError):
                change(copy, path)
        assert (name, *plans(copy)) == (name, plan, plan)
