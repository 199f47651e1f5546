"""Decides whether the coordinator of a run and its first worker are in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live.kinds import is_live

if TYPE_CHECKING:
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions
    from fsql.job.process_options import ProcessOptions


def hosting_flags(
    compiled: Compiled, options: RunOptions, process_options: ProcessOptions
) -> tuple[str, ...]:
    """Return the flags of a coordinator for a worker in its process; none if it has its own process.

    With live input, rows are few most of the time, and hops between processes are most of their latency.
    With files, the coordinator has its own process, and so it has if workers are started by hand.
    """
    hosted = process_options.hosted
    if hosted is None:
        is_any_live = any(is_live(table) for table in compiled.job.tables)
        hosted = is_any_live and not process_options.joining
    if not hosted or process_options.joining == options.workers:
        return ()
    contracts = process_options.contracts and not process_options.auto
    return "--hosts-worker", "contracts" if contracts else "fixed"
