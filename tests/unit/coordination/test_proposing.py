"""A tick that waits for others, when the job proposes ticks as well."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.job.ticks import OtherTickError, not_taken, propose_when_free
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with closing(EmbeddedCoordination(tmp_path / FILE, create=True)):
        return tmp_path


class Proposer:
    """Finds that the job has just proposed a tick itself, a number of times."""

    def __init__(self, others: int) -> None:
        self.others = others

    def __call__(self) -> int:
        if self.others:
            self.others -= 1
            raise OtherTickError(not_taken("tick 4 has not ended").diagnostics)
        return 5


def test_a_tick_that_the_job_proposes_meanwhile_is_waited_for(state: Path) -> None:
    assert propose_when_free(Proposer(3), state, seconds=60, is_running=lambda: True) == 5


def test_it_is_not_waited_for_without_end(state: Path) -> None:
    with pytest.raises(FsqlError) as caught:
        propose_when_free(Proposer(10**9), state, seconds=0, is_running=lambda: True)
    assert str(caught.value) == "E652: tick 4 has not ended"
