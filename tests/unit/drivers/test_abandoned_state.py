"""The state of a run whose launcher was killed is removed, also if a slow worker creates its store anew."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.job import entry_points

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_store_that_is_created_later_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) in {1, 3, 6}:
            (state / "worker-1").mkdir(parents=True)

    monkeypatch.setattr(time, "sleep", sleep)
    entry_points.remove_abandoned_state(state)
    assert not state.exists()
    assert len(waits) == 6 + 4
