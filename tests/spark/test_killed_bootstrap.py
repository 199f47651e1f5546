"""A bootstrap that is killed before or behind its commits: it begins anew, or the job goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.tests.queries.examples import EXAMPLES
from fsql.tests.spark.shared_session import address_of
from fsql.tests.spark.test_bootstrap import begin, continue_work, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BOOTSTRAP = """
import os, signal, sys
from contextlib import nullcontext
from pathlib import Path
from fsql.job import bootstrap
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions
from fsql.job.process_options import ProcessOptions
from fsql.job.script_file import read_script
from fsql.runtime.hosts.job_state import JobState
from fsql.tests.spark.shared_session import PARTITIONS, attach

commit, left = JobState.commit, int(sys.argv[2])

def kill_or_commit(self, manifest):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return commit(self, manifest)

JobState.commit = kill_or_commit
bootstrap.PARTITIONS = PARTITIONS
bootstrap.spark_session = lambda *_: nullcontext(attach())
compiled = compile_job(read_script(sys.argv[1], {}))
state = Path(sys.argv[1]).parent / "state"
bootstrap.bootstrap(compiled, RunOptions(workers=2), ProcessOptions(state=state), "", None)
"""
"""Bootstraps the job of a script on the session of another process.

It kills itself where it would commit once more than so many times.
"""


@pytest.mark.usefixtures("bootstraps")
@pytest.mark.parametrize("commits", [0, 1])
def test_a_killed_bootstrap_loses_and_doubles_nothing(
    commits: int, session: SparkSession, tmp_path: Path
) -> None:
    example = EXAMPLES["bank_transfers"]
    script = example.copy_to(tmp_path)
    killed = subprocess.run(
        [sys.executable, "-P", "-c", BOOTSTRAP, str(script), str(commits)],
        env=os.environ | address_of(session),
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    if commits:
        with pytest.raises(FsqlError, match="the job has begun"):
            begin(script, None)
    else:
        rows = sum(len(rows) for splits in example.inputs.values() for rows in splits)
        assert begin(script, None).rows_in == rows
    continue_work(script, 2)
    assert written(tmp_path) == example.expected
