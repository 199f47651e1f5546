"""Nothing that happens in a cluster depends on how Python hashes texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation.workloads import generated

PACKAGES = Path(__file__).resolve().parents[2] / ".pyroot"
PROGRAM = """
from fsql.tests.simulation.test_hash_seeds import digest
print(digest())
"""


def digest() -> str:
    result = run(4, *generated(4), Plan(seconds=20))
    assert not result.failure
    return result.digest


def test_a_trace_does_not_depend_on_hash_seeds() -> None:
    hash_seed = "77" if os.environ.get("PYTHONHASHSEED") != "77" else "78"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{digest()}\n"
