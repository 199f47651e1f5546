"""The processor time of a command with all processes that it starts, as `/proc` has it."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.benchmarks.job_process import JobFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLE_SECONDS: Final = 0.1


class CommandTimes(NamedTuple):
    """What a command took, in seconds: elapsed, and of the processor."""

    seconds: float
    processor_seconds: float


def run_command(command: Sequence[str]) -> CommandTimes:
    """Run a command to its end, and return what it took with all processes below it.

    A living process has the time of its children that have ended, if it has waited for them.  So the sum over
    all that live is the time of all, until one ends for which nobody waits.  The greatest sum counts.

    Raises:
        JobFailedError: if it fails.
    """
    with tempfile.TemporaryFile() as messages:
        before, started = _seconds_of_ended(), time.perf_counter()
        process = Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=messages)  # noqa: S603 - our own
        most = 0.0
        while process.poll() is None:
            most = max(most, _seconds_of_living(process.pid))
            time.sleep(_SAMPLE_SECONDS)
        seconds = time.perf_counter() - started
        if process.returncode != 0:
            messages.seek(0)
            text = messages.read().decode(errors="replace")
            raise JobFailedError(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    return CommandTimes(seconds, max(most, _seconds_of_ended() - before))


def _seconds_of_ended() -> float:
    """Return the processor time of all processes below this one that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds_of_living(root: int) -> float:
    """Return the processor time of a process and all below it; 0 where there is no `/proc`."""
    ticks: dict[int, int] = {}
    children = defaultdict[int, list[int]](list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        process = int(path.parent.name)
        children[int(fields[1])].append(process)
        ticks[process] = sum(map(int, fields[11:15]))
    found, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        found += ticks.get(process, 0)
        waiting += children[process]
    return found / os.sysconf("SC_CLK_TCK")
