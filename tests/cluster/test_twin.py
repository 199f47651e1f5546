"""Runs from the command line whose processes are killed, stopped and starved, as often as they recover.

What they write is, byte for byte, what one process writes that nothing happens to; and when they are over
nothing of them is left.  When a process dies is up to the machine, so no run can be repeated exactly: what
must hold has to hold for all.

Catches what the protocol's simulation cannot: files, sockets, processes, their real interleaving.
"""

from __future__ import annotations

import signal
import time
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import difference, expected, prefixes, script, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster

KILLS: Final = ("worker",) * 8 + ("coordinator",) * 3
"""What is killed of each of the runs below, in any order."""
RUNS: Final = 5
LINES: Final = 300
"""How many lines the first two runs have written before anybody is killed."""


def test_kills_by_the_dozen(new_twin: Callable[[int], Twin], tmp_path: Path) -> None:
    """Five runs at once: the wait of one is the time of the others.

    The first two have written many lines before anybody is killed, so that no later epoch gets as far.
    None has an end: with one, a run could come to it before its processes are killed, on a busy machine.
    """
    many = sum(map(len, expected(tmp_path, LINES).values()))
    random = Random(3)
    twins = [new_twin(ENDLESS) for _ in range(RUNS)]
    plans = [random.sample(KILLS, k=len(KILLS)) for _ in twins]
    due = [0.0] * RUNS
    for number, twin in enumerate(twins):
        workers = 1 + number % 3
        twin.start(workers, "--apart" if workers == 1 else "--hosted")
    while any(plans):
        for number, (twin, plan) in enumerate(zip(twins, plans, strict=True)):
            begins = many if number < 2 else 0
            if not plan or not twin.advances() or twin.written_bytes() < begins:
                due[number] = time.monotonic() + random.choice((0.0, 0.1, 0.4))
            elif time.monotonic() > due[number] and twin.kill(random, plan[-1]):
                plan.pop()
        time.sleep(0.01)
    for number, twin in enumerate(twins):
        wait_until(twin.advances, "output")
        assert twin.end(signal.SIGINT) == 130, twin.errors()
        written = twin.written()
        right = prefixes(tmp_path / f"right{number}", partial(script, None), written)
        assert difference(written, right) == ""
    assert sum(twin.kills for twin in twins) == RUNS * len(KILLS) >= 50
