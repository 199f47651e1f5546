"""The stopwatch tells a process that computes from one that is stopped, also on an overloaded machine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import pytest

_SPINNER: Final = """
import os
os.sched_setaffinity(0, {CORE})
print("spinning", flush=True)
while True:
    pass
"""

_MEASURED: Final = """
import os, time
from fsql.runtime.cluster.node import Computed
from fsql.runtime.drivers.processes.process_role import busy_seconds
from fsql.runtime.drivers.processes.stopwatch import Stopwatch
os.sched_setaffinity(0, {CORE})
os.nice(NICE)
stopwatch, busy_before = Stopwatch(), busy_seconds(os.getpid())
started, processor_started = time.monotonic(), time.process_time()
while time.monotonic() < started + 2:
    STEP
seconds, used = time.monotonic() - started, time.process_time() - processor_started
[*events] = stopwatch.lap()
print(used < seconds / 8)
print([type(event) is Computed and event.seconds >= 2 for event in events])
print(busy_seconds(os.getpid()) - busy_before >= seconds / 2)
"""


@pytest.mark.parametrize(
    ("step", "nice", "said"),
    [("pass", 19, ["True", "[True]", "True"]), ("time.sleep(2.5)", 0, ["True", "[]", "False"])],
    ids=["computes", "sleeps"],
)
def test_waiting_for_a_core_is_computing_and_waiting_for_anything_else_is_not(
    step: str, nice: int, said: list[str]
) -> None:
    """The process shares one core with another one; if it computes, it has the lowest priority."""
    core = str(min(os.sched_getaffinity(0)))
    spinner = subprocess.Popen(
        [sys.executable, "-c", _SPINNER.replace("CORE", core)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert spinner.stdout is not None
        assert spinner.stdout.readline() == "spinning\n"
        script = _MEASURED.replace("CORE", core).replace("STEP", step).replace("NICE", str(nice))
        measured = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
    finally:
        spinner.kill()
        spinner.communicate()
    assert measured.stdout.splitlines() == said
