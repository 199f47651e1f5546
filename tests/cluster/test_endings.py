"""How runs end, and what is left of them: the state that was requested, and nothing else."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.conftest import ENDLESS
from fsql.tests.cluster.twin import Twin, difference, prefixes, script, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.cluster


def left_behind(twin: Twin) -> list[str]:
    """Return what is where temporary files go."""
    return [path.name for path in (twin.directory / "tmp").iterdir()]


def test_a_run_goes_on_where_the_last_one_ended(
    new_twin: Callable[[], Twin], right: dict[str, bytes]
) -> None:
    """It is killed and interrupted, and each time begun again with other workers."""
    twin = new_twin()
    for workers, number in ((2, signal.SIGKILL), (3, signal.SIGINT), (1, signal.SIGKILL)):
        twin.start(workers)
        wait_until(twin.advances, "output")
        code = twin.end(number)
        assert code == (130 if number == signal.SIGINT else -number)
        assert left_behind(twin) == []
        assert all(right[name].startswith(data) for name, data in twin.written().items())
    twin.start(2)
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""
    twin.start(2)
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_nothing_is_left_of_a_run_without_state(
    number: signal.Signals, new_twin: Callable[[int], Twin]
) -> None:
    twin = new_twin(ENDLESS)
    twin.start(2, "--no-state")
    wait_until(twin.advances, "output")
    assert left_behind(twin) != []
    twin.end(number)
    wait_until(lambda: left_behind(twin) == [], f"the end of {left_behind(twin)}")
    assert "Traceback" not in twin.errors()


def test_a_run_begins_while_the_last_one_still_ends(
    new_twin: Callable[[int], Twin], tmp_path: Path
) -> None:
    """Children of a launcher that was killed live on for a moment; and one that is stopped, for long.

    What is stopped is in nobody's way: the store of a worker is read, and another one is written.
    """
    twin = new_twin(ENDLESS)
    twin.start(2, "--apart")
    for role in ("coordinator", "worker"):
        wait_until(twin.advances, "output")
        if role == "coordinator":
            stopped = [twin.freeze_coordinator()]
        else:
            stopped = twin.pids(role)
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
        assert twin.process is not None
        twin.process.kill()
        twin.process.wait()
        twin.start(2, "--apart")
        wait_until(twin.advances, "output")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    wait_until(twin.advances, "output")
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    right = prefixes(tmp_path / "right", partial(script, None), twin.written())
    assert difference(twin.written(), right) == ""


def test_nothing_is_left_of_a_run_that_comes_to_its_end(
    new_twin: Callable[[], Twin], right: dict[str, bytes]
) -> None:
    twin = new_twin()
    twin.start(2, "--no-state")
    assert twin.ended() == 0, twin.errors()
    assert difference(twin.written(), right) == ""
    assert left_behind(twin) == []
