"""Links that are cut between workers, or to all of them: noticed after the timeout, each time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.cluster.job_spec import Settings
from fsql.tests.cluster.jobs import Job
from fsql.tests.cluster.leading import LedRun
from fsql.tests.cluster.proxy import Network, ProxyFault
from fsql.tests.cluster.twin import script

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.cluster.coordinator.events import Progress
    from fsql.tests.cluster.nursery import Nursery

pytestmark = pytest.mark.cluster

WORKERS = 2
CUTS = {
    ProxyFault.APART: re.compile(r"worker \d has left: worker \d has not acknowledged for 5 s"),
    ProxyFault.STALL: re.compile(
        r"worker \d( has left: (no message from the coordinator|worker \d has not acknowledged)"
        r"| has been silent| has not acknowledged) for 5 s"
    ),
}
"""What is said, by what is cut.  To workers all links are: any of them may be noticed first."""

TIMES = 2
"""How often the links are cut: the second time, too, it takes no longer to be noticed."""


class Cuts:
    """Cuts the links of all workers when an epoch runs, and heals them when it was given up."""

    def __init__(self, network: Network, cut: ProxyFault) -> None:
        self.details: list[str] = []
        self._network = network
        self._cut = cut
        self._epoch = 0

    def __call__(self, progress: Progress) -> None:
        if len(self.details) == TIMES:
            return
        if self._epoch and progress.phase != Phase.RUNNING.value:
            self.details.append(progress.detail)
            self._epoch = 0
            self._set(ProxyFault.NONE)
        elif not self._epoch and progress.phase == Phase.RUNNING.value:
            self._epoch = progress.epoch
            self._set(self._cut)

    def _set(self, fault: ProxyFault) -> None:
        _coordinator, *workers = range(len(self._network.proxies))
        for number in workers:
            self._network.set(number, fault)


@pytest.mark.parametrize("cut", CUTS, ids=["between workers", "to workers"])
def test_a_cut_link_is_noticed_each_time_after_the_failure_timeout(
    cut: ProxyFault, nursery: Nursery, tmp_path: Path
) -> None:
    path = tmp_path / "job.sql"
    path.write_text(script(None, 800))
    expected = Job.of(path).written_here()
    path.write_text(script(200, 800))
    job = Job.of(path)
    with Network() as network:
        cuts = Cuts(network, cut)
        description = job.description(WORKERS, read_ahead_rows=1000)
        run = LedRun(nursery, job, description, on_progress=cuts, network=network)
        written = run.written()
    assert written == expected
    assert Settings().failure_after == 5.0
    assert len(cuts.details) == TIMES
    assert all(CUTS[cut].fullmatch(detail) for detail in cuts.details), cuts.details
