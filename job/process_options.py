"""The options of a run on processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.compiler.statistics import TICK_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.job.graph_diff import StateChange
    from fsql.runtime.coordination.zookeeper.address import ZooKeeperAddress
    from fsql.runtime.drivers.processes.starting import StartProcess


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """How a job is run on processes.

    Args:
        state: the state directory; None for a temporary one.
        snapshot_every: seconds between two snapshots; None for none.
        delivery: the delivery guarantee of all outputs; None for the guarantees that tables declare.
        listen: the address of the coordinator, tcp://HOST:PORT; None for any port of the loopback.
        joining: how many of the workers are started by hand.
        coordination: the address of ZooKeeper; None for a file in the state directory.
        credentials: the file with the credentials for ZooKeeper; None for those of the environment, if any.
        keys: the directory of the CURVE keys; without keys, all nodes are on the loopback.
        json_messages: whether processes print messages about connections as JSON.
        change: what happens to the state of a drained job whose plan has changed; None refuses the change.
        allow_inconsistent: whether changes of outputs need not add up after a change of the plan.
        start_process: starts the processes of the run; None for a new fork server.
        hosted: whether worker 0 is in the process of the coordinator; None for this if input is live and no
            worker is started by hand.
        contracts: if it is, whether owners of hash bins change by load.
        auto: whether ticks are chosen from statistics, and proposed.
        tick_seconds: how often workers write statistics, 0 for never.
    """

    state: Path | None = None
    snapshot_every: float | None = 1.0
    delivery: str | None = None
    listen: str | None = None
    joining: int = 0
    coordination: ZooKeeperAddress | None = None
    credentials: Path | None = None
    keys: Path | None = None
    json_messages: bool = False
    change: StateChange | None = None
    allow_inconsistent: bool = False
    start_process: StartProcess | None = None
    hosted: bool | None = None
    contracts: bool = True
    auto: bool = False
    tick_seconds: float = TICK_SECONDS
