"""A bootstrap that is killed before or behind its commits: it begins anew, or the job goes on from there."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.queries.examples import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

BOOTSTRAP = """
import os, signal, sys
from pathlib import Path
from fsql.job import bootstrap
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions
from fsql.job.process_options import ProcessOptions
from fsql.job.script_file import read_script
from fsql.runtime.hosts.job_state import JobState

commit, left = JobState.commit, int(sys.argv[2])

def kill_or_commit(self, manifest):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return commit(self, manifest)

JobState.commit = kill_or_commit
bootstrap.PARTITIONS = 3
compiled = compile_job(read_script(sys.argv[1], {}))
state = Path(sys.argv[1]).parent / "state"
bootstrap.bootstrap(compiled, RunOptions(workers=2), ProcessOptions(state=state), "local[1]", None)
"""
"""Bootstraps the job of a script, and kills itself where it would commit once more than so many times."""

NEVER = 99


def bootstrap_until(script: Path, commits: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", BOOTSTRAP, str(script), str(commits)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("commits", [0, 1])
def test_a_killed_bootstrap_loses_and_doubles_nothing(commits: int, tmp_path: Path) -> None:
    example = EXAMPLES["bank_transfers"]
    script = example.copy_to(tmp_path)
    assert bootstrap_until(script, commits).returncode == -signal.SIGKILL
    again = bootstrap_until(script, NEVER)
    assert (again.returncode == 0) == (commits == 0), again.stderr
    assert ("E662" in again.stderr) == (commits > 0)
    said = fsql("run", script, "--quiet", "--state", tmp_path / "state", "-w", "2")
    assert said.code == 0, said.err
    found = {path.name: path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))}
    assert found == example.expected
