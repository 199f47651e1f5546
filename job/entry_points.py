"""The entry points of the processes of a run: coordinator and workers."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.compiler.records import dataclass
from fsql.connectors.addresses import loopback
from fsql.connectors.live.front_logs import LocalFrontLog
from fsql.job.coordination import job_address, job_coordination, open_zookeeper
from fsql.job.description import POSITIONS, parse_description, prepare_job
from fsql.job.join_deadline import JOIN_DEADLINE_SECONDS, JoinDeadline
from fsql.job.leader_finder import LeaderFinder
from fsql.job.node_network import LOOPBACK, NodeNetwork
from fsql.job.open_files import raise_open_files_limit
from fsql.job.planning import insert_limits
from fsql.job.sinks import StandardOutput, job_consumers
from fsql.runtime.cluster.coordinator.events import Finish
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.job_spec import JobSpec, Settings
from fsql.runtime.cluster.worker.events import LeaderFound
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.coordination.zookeeper.address import (
    find_credentials,
    is_zookeeper,
    parse_address,
)
from fsql.runtime.drivers.memory import collect_less_often, keep_freed_memory
from fsql.runtime.drivers.node_address import parse_node_address
from fsql.runtime.drivers.processes.coordinator_process import CoordinatorProcess
from fsql.runtime.drivers.processes.hosting_process import HostingProcess
from fsql.runtime.drivers.processes.job_state import open_job_state
from fsql.runtime.drivers.processes.process_role import COORDINATOR, WORKER, set_role
from fsql.runtime.drivers.processes.supervised import Supervisor
from fsql.runtime.drivers.processes.worker_process import WorkerProcess
from fsql.runtime.hosts.hosted_nodes import HostedTransport
from fsql.runtime.key_file import load_key, load_or_create_key

_REMOVALS_MAX: Final = 60
_BETWEEN_REMOVALS_SECONDS: Final = 0.5
_REMOVED_COUNT: Final = 4
"""How often in succession the directory has to be absent."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.job.description import PreparedJob
    from fsql.runtime.drivers.transport import ZeroMqTransport
    from fsql.runtime.hosts.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Hosted:
    """A worker in the process of the coordinator; with `contracts` owners of hash bins change by load."""

    contracts: bool


def prepare(description: bytes) -> Prepared:
    """See `fsql.runtime.hosts.prepared.Prepare`."""
    return prepare_job(parse_description(description)).for_workers()


def run_worker(
    leader: str,
    key: Path,
    *,
    supervised: bool,
    join_deadline: float = JOIN_DEADLINE_SECONDS,
    credentials: Path | None = None,
    network: NodeNetwork = LOOPBACK,
    notify: Callable[[str], None] = lambda _: None,
) -> bool:
    """Execute a worker of the run whose coordinator is at `leader`; return whether the job is finished.

    `leader` is its address or, to find it in ZooKeeper, the address of the job there; `credentials` is the
    file with the credentials for ZooKeeper.
    A worker without a launcher ends after `join_deadline` seconds without a message from the run.
    `notify` is called with messages for the user.

    Raises:
        FsqlError: if the key or the address cannot be used; E604, E605; E615, E641, E643.
    """
    set_role(WORKER)
    keep_freed_memory()
    collect_less_often()
    raise_open_files_limit()
    finder = _find_leader(leader, credentials) if is_zookeeper(leader) else None
    if finder is None:
        parse_node_address(leader, curve=network.keys is not None)
    transport = network.open_transport(load_key(key), leader)
    node = WorkerNode("", _worker_name(), transport.address, Settings())
    supervisor = Supervisor.of_worker(transport.address) if supervised else None
    deadline = JoinDeadline(leader, key, join_deadline, transport.other_versions, notify)

    def leader_found() -> str | None:
        address = None if finder is None else finder.take()
        if address is not None:
            parse_node_address(address, curve=network.keys is not None)
            deadline.on_leader(address)
        return address

    process = WorkerProcess(
        node, transport, prepare, supervisor, None if supervised else deadline, leader_found
    )
    if not supervised:
        notify(f"joining the run at {leader}\n")
    try:
        if finder is None:
            process.step(LeaderFound(leader))
        return process.run()
    finally:
        transport.close()
        if finder is not None:
            finder.close()


def _find_leader(address: str, credentials: Path | None) -> LeaderFinder:
    """Return a finder of the coordinator of the job at an address of ZooKeeper.

    Raises:
        FsqlError: E641 or E643, if address or credentials cannot be used.
    """
    job = parse_address(address)
    return LeaderFinder(open_zookeeper(job, find_credentials(job, credentials), create=True))


def run_coordinator(
    state: Path,
    listening: int,
    stdout: str | None,
    *,
    restarted: bool,
    hosted: Hosted | None = None,
    credentials: Path | None = None,
    network: NodeNetwork = LOOPBACK,
) -> bool:
    """Execute the coordinator of the job in the state directory; return whether the job is finished.

    It returns False if the launcher has ended first.  `listening` is the descriptor of the socket at which
    workers join; `restarted` means that an earlier coordinator of the same run has ended.  With `hosted`,
    the process also executes a worker.  `credentials` is the file with the credentials for ZooKeeper.
    """
    set_role(COORDINATOR)
    keep_freed_memory()
    collect_less_often()
    raise_open_files_limit()
    supervisor = Supervisor(sys.stdin.fileno(), sys.stdout.fileno())
    try:
        return _lead(
            *(state, listening, stdout, supervisor),
            restarted=restarted,
            hosted=hosted,
            credentials=credentials,
            network=network,
        )
    except FsqlError as error:
        # Another coordinator would fail in the same way.
        supervisor.report(Finish(diagnostics=diagnostics_bytes(error)))
        return True


def _lead(  # noqa: PLR0913 - as run_coordinator
    state: Path,
    listening: int,
    stdout: str | None,
    supervisor: Supervisor,
    *,
    restarted: bool,
    hosted: Hosted | None,
    credentials: Path | None,
    network: NodeNetwork,
) -> bool:
    """Execute the coordinator; see `run_coordinator`.

    Raises:
        FsqlError: if the job cannot be prepared or its state cannot be opened.
    """
    contracts = hosted is not None and hosted.contracts
    data = (state / "job.json").read_bytes()
    job = prepare_job(parse_description(data))
    positions = state / POSITIONS
    positions.mkdir(mode=0o700, exist_ok=True)
    description = job.description
    key = load_or_create_key(state / "cluster.key")
    consumed = job_consumers(
        job.compiled,
        job.splits,
        positions,
        stdout=None if stdout is None else StandardOutput(loopback(stdout), key),
        option=description.delivery_option(),
        append=description.append,
        since=description.since,
    )
    outputs = tuple(each.output for each in consumed)
    logs = {front: LocalFrontLog(path) for front, path in job.front_logs().items()}
    plan = job.begin_contracted() if contracts else job.plan
    work = (description.job, 0, plan, job.fronts, outputs, data)
    ends = insert_limits(job.compiled, job.splits)
    work_of_plan = (bool(logs), description.plan, job.encodings(), ends, job.differences())
    spec = JobSpec(*work, *work_of_plan)
    transport = network.take_listener(key, listening)
    local = None if hosted is None else HostedTransport(transport, transport.address)
    finder = None
    node = CoordinatorNode(spec, transport.address, replace(job.settings(), contracts=contracts))
    try:
        coordination = job_coordination(description, credentials)
        job_state = open_job_state(state, transport.address, logs, coordination=coordination)
        sinks = [each.consumer for each in consumed]
        parts = (node, spec, transport, job_state, sinks, supervisor)
        process = CoordinatorProcess(*parts, restarted=restarted, sending=local)
        if local is None:
            return process.run()
        zookeeper = job_address(description)
        finder = None if zookeeper is None else _find_leader(str(zookeeper), credentials)
        worker = _hosted_worker(job, data, transport, local, finder)
        return HostingProcess(process, worker, transport, local).run()
    finally:
        transport.close()
        if finder is not None:
            finder.close()


def _hosted_worker(
    job: PreparedJob,
    data: bytes,
    transport: ZeroMqTransport,
    hosted: HostedTransport,
    finder: LeaderFinder | None,
) -> WorkerProcess:
    """Return the worker in the process of the coordinator of a job, whose description is `data`."""

    def prepare_hosted(description: bytes) -> Prepared:
        return job.for_workers() if description == data else prepare(description)

    node = WorkerNode("", _worker_name(), transport.address, Settings())
    find_leader = (lambda: None) if finder is None else finder.take
    worker = WorkerProcess(
        *(node, transport, prepare_hosted, None), find_leader=find_leader, sending=hosted
    )
    if finder is None:
        worker.step(LeaderFound(transport.address))
    return worker


def _worker_name() -> str:
    return f"{os.getpid()}-{secrets.token_hex(8)}"


def remove_abandoned_state(state: Path) -> None:
    """Remove the temporary state directory of a run whose launcher has ended without removing it.

    Workers detect the end of the launcher.  A slow worker may still add a file, or create its store anew, so
    removal is tried several times, also once it has succeeded.
    """
    absent = 0
    for _ in range(_REMOVALS_MAX):
        time.sleep(_BETWEEN_REMOVALS_SECONDS)
        absent = 0 if state.exists() else absent + 1
        if absent == _REMOVED_COUNT:
            return
        shutil.rmtree(state, ignore_errors=True)
