"""The numbers of the page are those of `fsql top`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.console.top.sample import Sampler
from fsql.console.web.watch import Watch
from fsql.deployment.directory import ClusterDirectory, JobDirectory
from fsql.tests.ui.conftest import COUNTERS, JOB

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_top_and_the_page_agree(stopped_job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ClusterDirectory(stopped_job)
    job = JobDirectory(stopped_job / "jobs" / JOB)
    status = job.status()
    assert status is not None
    monkeypatch.setattr(JobDirectory, "runner", lambda _: status.pid)
    watch, sampler = Watch(cluster, lambda: 200.0), Sampler(cluster)
    for second in range(3):
        counters = {**COUNTERS, "rows_in": 1000 + 40 * second, "rows_out": 40 + 8 * second}
        updated = type(status)(
            **{name: getattr(status, name) for name in status.__struct_fields__}
            | {"updated": status.updated + 2 * second, "counters": counters}
        )
        job.set_status(updated)
        watch.take()
        top: Any = sampler.take().fields()["jobs"]
        [of_page], [of_top] = watch.now.jobs, top
        assert {name: of_page[name] for name in of_top} == of_top
    assert of_page["rates"] == {"rows_in": 20.0, "rows_out": 4.0}
    assert of_page["latency"] is None
    job.set_status(status)
