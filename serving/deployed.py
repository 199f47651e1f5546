"""The deployed jobs of a cluster directory, as servers need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.deployment.views import views
from fsql.serving.metrics import COUNTERS, JobFigures

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.deployment.directory import ClusterDirectory


def states_of(cluster: ClusterDirectory) -> Mapping[str, Path]:
    """Return the state directories of the jobs, by name."""
    return {name: job.state for name, (job, _) in cluster.by_name().items()}


def figures_of(cluster: ClusterDirectory) -> Mapping[str, JobFigures]:
    """Return the figures of the jobs, by name."""
    try:
        found = views(cluster)
    except (FsqlError, OSError):  # a job was dropped meanwhile
        return {}
    figures = {}
    for view in found:
        status = view.status
        counters = {} if status is None else status.counters
        figures[view.deployment.name] = JobFigures(
            view.state,
            {name: counters[name] for name in COUNTERS if name in counters},
            0 if view.restarts is None else view.restarts.failures,
            0 if status is None else len(status.problems),
            None if status is None else status.snapshot_at,
            0.0 if status is None else status.held_seconds,
        )
    return figures
