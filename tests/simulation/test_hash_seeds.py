"""Nothing that happens in a cluster depends on how Python hashes texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2] / ".pyroot"
PROGRAM = """
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation.workloads import generated
result = run(4, *generated(4), Plan(seconds=20))
assert not result.failure
print(result.digest)
"""


def digest(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_trace_does_not_depend_on_hash_seeds() -> None:
    assert digest("0") == digest("77")
