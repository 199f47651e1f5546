"""`fsql up --machine` and `fsql down --machine`: the agents of other machines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fsql.console.forked_commands import open_fork_server, spawn_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

    from fsql.console.reporter import Reporter
    from fsql.deployment.directory import ClusterDirectory


def up_machine(
    root: click.Context,
    reporter: Reporter,
    cluster: ClusterDirectory,
    name: str,
    flags: Mapping[str, Any],
    *,
    foreground: bool,
) -> None:
    """Start the agent of a machine, unless it runs.

    Raises:
        FsqlError: E601, E646, if its address or its keys cannot be used; E631, E632, E634.
    """
    from fsql.deployment.connections import Connections
    from fsql.deployment.machine_agent import run_machine_agent
    from fsql.deployment.machines import MachineSettings, machine_of
    from fsql.deployment.startup import check_is_cluster, start_machine_agent

    check_is_cluster(cluster)
    machine = machine_of(cluster, name)
    keys, credentials = (
        None if path is None else str(path.absolute())
        for path in (flags["keys"], flags["credentials"])
    )
    Connections(keys=keys, listen=flags["listen"]).check()
    if machine.agent() is None:
        machine.create()
        machine.set_settings(MachineSettings(keys, flags["listen"], credentials))
    if foreground:
        with open_fork_server(root) as fork_server:
            started = run_machine_agent(cluster, machine, fork_server.start)
    else:
        started = start_machine_agent(cluster, machine, partial(spawn_agent, root))
    fields = {"directory": str(cluster.path), "machine": name, "started": started}
    if not started or not foreground:
        what = "started" if started else "runs already"
        reporter.inform("up", fields, f"the agent of machine {name} {what}\n")


def down_machine(reporter: Reporter, cluster: ClusterDirectory, name: str) -> None:
    """Stop the agent of a machine and its workers.

    Raises:
        FsqlError: E631, if it does not run on this machine; E634.
    """
    from fsql.deployment.machines import machine_of
    from fsql.deployment.startup import stop_machine_agent

    stop_machine_agent(cluster, machine_of(cluster, name))
    fields = {"directory": str(cluster.path), "machine": name}
    reporter.inform("down", fields, f"the agent of machine {name} and its workers are stopped\n")
