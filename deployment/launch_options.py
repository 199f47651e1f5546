"""Converts a deployment to the options of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fsql.connectors.file.output_files import Existing
from fsql.job.first_plan import given_profile
from fsql.job.graph_diff import StateChange
from fsql.job.plan_file import script_of_plan
from fsql.job.planning import RunOptions
from fsql.job.process_options import ProcessOptions
from fsql.runtime.coordination.zookeeper.address import parse_address

if TYPE_CHECKING:
    from fsql.deployment.directory import Deployment, JobDirectory
    from fsql.job.script import Script


def launch_options(
    job: JobDirectory, deployment: Deployment
) -> tuple[Script, RunOptions, ProcessOptions]:
    """Return the script and the options with which a job is run.

    Raises:
        FsqlError: E606 or E607, if its plan cannot be read; E641, if an address is invalid.
    """
    plan, connections = job.plan_of(deployment), deployment.connections
    address = connections.coordination
    script = script_of_plan(str(plan), plan.read_bytes(), {})
    options = RunOptions(
        workers=deployment.workers,
        existing=Existing(deployment.existing),
        profile=None if deployment.profile is None else given_profile(Path(deployment.profile)),
    )
    process_options = ProcessOptions(
        state=job.state,
        snapshot_every=deployment.snapshot_ms / 1000,
        delivery=deployment.delivery,
        change=None if deployment.change is None else StateChange(deployment.change),
        allow_inconsistent=deployment.allow_inconsistent,
        listen=connections.listen,
        joining=(connections.joining or 0) + sum(deployment.machines.values()),
        coordination=None if address is None else parse_address(address),
        credentials=None if connections.credentials is None else Path(connections.credentials),
        keys=None if connections.keys is None else Path(connections.keys),
        json_messages=True,
        hosted=False,  # each node is a separate process
        auto=deployment.auto,
        tick_seconds=deployment.tick_seconds,
    )
    return script, options, process_options
