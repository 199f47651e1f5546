"""The state of deployed jobs as text and as JSON."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.numbers import count_text, seconds_text
from fsql.compiler.diagnostics.render import render_json
from fsql.console.text_table import text_table
from fsql.deployment.views import causes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.deployment.views import JobView


def jobs_text(found: Sequence[JobView]) -> str:
    """Return a line for each job."""
    if not found:
        return "no jobs\n"
    rows = [
        (
            each.deployment.name,
            each.state,
            str(each.workers),
            _count(each, "rows_in"),
            _count(each, "rows_out"),
        )
        for each in found
    ]
    return text_table(("name", "state", "workers", "rows in", "rows out"), rows)


def _count(view: JobView, counter: str) -> str:
    return "" if view.status is None else count_text(view.status.counters[counter])


def status_lines(view: JobView) -> list[str]:
    """Return the state of a job, as lines."""
    status, name = view.status, view.deployment.name
    lines = [f"{name}: {view.state}"]
    if status is not None:
        ran = f"process {view.runner}, " if view.runner else "in its last run: "
        lines.append(f"  {ran}epoch {status.epoch}, {status.phase}")
        counters = status.counters
        lines.append(
            f"  rows in {count_text(counters['rows_in'])}, rows out {count_text(counters['rows_out'])},"
            f" rejected {count_text(counters['rows_rejected'])}, late {count_text(counters['rows_late'])}"
        )
        age = _snapshot_age(view)
        snapshot = "none yet" if age is None else f"{seconds_text(age)} ago"
        lines.append(f"  snapshots {counters['snapshots']}, the last {snapshot}")
        lines.append(f"  recoveries {counters['recoveries']}")
    if view.deployment.auto and view.deployment.tick_seconds:
        lines.append(f"  chooses its ticks every {view.deployment.tick_seconds:g} s")
    return lines


def why_lines(view: JobView) -> list[str]:
    """Return the causes of the state of a job, as lines."""
    return [f"  why: {cause}" for cause in causes(view)]


def job_json(view: JobView) -> dict[str, object]:
    """Return the full state of a job as a JSON object."""
    status, error = view.status, view.error
    diagnostics = None
    if error is not None:
        diagnostics = json.loads(render_json(error.diagnostics, error.source))
    return {
        "name": view.deployment.name,
        "id": view.deployment.id,
        "state": view.state,
        "workers": view.workers,
        "auto": view.deployment.auto,
        "tick_seconds": view.deployment.tick_seconds,
        "process": view.runner,
        "phase": None if status is None else status.phase,
        "epoch": None if status is None else status.epoch,
        "counters": {} if status is None else status.counters,
        "min_time": None if status is None else status.min_time or None,
        "held_by": None if status is None else status.held_by or None,
        "held_seconds": None if status is None else status.held_seconds,
        "snapshot_age_seconds": _snapshot_age(view),
        "failures": 0 if view.restarts is None else view.restarts.failures,
        "error": diagnostics,
        "why": list(causes(view)),
    }


def _snapshot_age(view: JobView) -> float | None:
    if view.status is None or view.status.snapshot_at is None:
        return None
    return max(0.0, time.time() - view.status.snapshot_at)
