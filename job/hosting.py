"""Where the nodes of a run are: in processes of their own, or the coordinator with the first worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live.live_splits import is_live

if TYPE_CHECKING:
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions
    from fsql.job.process_options import ProcessOptions


def hosting_flags(
    compiled: Compiled, options: RunOptions, process_options: ProcessOptions
) -> tuple[str, ...]:
    """Return the flags of a coordinator about the worker in its process; none if it has a process of its own.

    With live input, rows are few most of the time, and hops between processes are most of their latency.
    With files, the coordinator has a process of its own.
    Workers that are started by hand come from anywhere.
    """
    hosted = process_options.hosted
    if hosted is None:
        is_any_live = any(is_live(table) for table in compiled.job.tables)
        hosted = is_any_live and not process_options.joining
    if not hosted or process_options.joining == options.workers:
        return ()
    contracts = process_options.contracts and not process_options.auto
    return "--hosts-worker", "contracts" if contracts else "fixed"
