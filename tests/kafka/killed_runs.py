"""Runs that are killed."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.process_role import processes_below

if TYPE_CHECKING:
    import subprocess


def kill(run: subprocess.Popen[bytes]) -> None:
    """Kill a run, and wait for the end of the processes that it has started.

    They write what they have before they end.  A broker refuses that once the next run has begun; the
    simulated one does not.
    """
    started = []
    for pid in processes_below(run.pid):
        with suppress(ProcessLookupError):
            started.append(os.pidfd_open(pid))
    run.kill()
    for each in started:
        wait_readable([each], None)
        os.close(each)
