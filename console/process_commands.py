"""The flags of `fsql worker`, and of the commands that the launcher starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack

import click

from fsql.console.flags import coordination_credentials, keys
from fsql.console.forked_commands import serve_forks

if TYPE_CHECKING:
    from fsql.job.node_network import NodeNetwork


class _NetworkFlags(TypedDict):
    keys: Path | None
    fingerprint: str | None
    as_json: bool
    listen: NotRequired[str | None]


_PATH = click.Path(path_type=Path)


@click.command(short_help="Join a run as a worker.")
@click.option(
    "--join",
    "leader",
    metavar="ADDRESS",
    required=True,
    help="Address at which the run listens for workers, or of the job in ZooKeeper.",
)
@click.option(
    "--key",
    type=_PATH,
    required=True,
    metavar="FILE",
    help="Key file of the run, for authentication.",
)
@click.option(
    "--timeout",
    "join_deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Exit after this time without a message from the run.",
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Address at which other nodes reach this worker, tcp://HOST:PORT; * selects a free port. "
    "Default: the address by which this machine reaches the run.",
)
@keys
@click.option("--fingerprint", hidden=True)
@click.option("--json", "as_json", is_flag=True, hidden=True)
@coordination_credentials
@click.option("--supervised", is_flag=True, hidden=True)
def worker(
    leader: str,
    key: Path,
    join_deadline: float,
    credentials: Path | None,
    *,
    supervised: bool,
    **network: Unpack[_NetworkFlags],
) -> None:
    """Join a run that waits for workers (fsql run --joining N), as a worker until it ends."""
    from fsql.console.reporter import print_message
    from fsql.job.entry_points import run_worker

    run_worker(
        leader,
        key,
        supervised=supervised,
        join_deadline=join_deadline,
        credentials=credentials,
        network=_network(network),
        notify=print_message,
    )


@click.command(hidden=True)
@click.option("--state", type=_PATH, required=True)
@click.option("--listening", type=int, required=True)
@click.option("--stdout")
@keys
@click.option("--fingerprint")
@click.option("--json", "as_json", is_flag=True)
@coordination_credentials
@click.option("--temporary", is_flag=True)
@click.option("--restarted", is_flag=True)
@click.option("--hosts-worker", type=click.Choice(("contracts", "fixed")))
def coordinator(
    state: Path,
    listening: int,
    stdout: str | None,
    credentials: Path | None,
    hosts_worker: str | None,
    *,
    temporary: bool,
    restarted: bool,
    **network: Unpack[_NetworkFlags],
) -> None:
    """Coordinate the job in a state directory; started by the launcher."""
    from fsql.job.entry_points import Hosted, remove_abandoned_state, run_coordinator

    over = run_coordinator(
        *(state, listening, stdout),
        restarted=restarted,
        hosted=None if hosts_worker is None else Hosted(hosts_worker == "contracts"),
        credentials=credentials,
        network=_network(network),
    )
    if temporary and not over:
        remove_abandoned_state(state)


@click.command("fork-server", hidden=True)
@click.argument("descriptor", type=int)
@click.pass_context
def fork_server(context: click.Context, descriptor: int) -> None:
    """Import all modules, and fork the processes that a run needs; started by its launcher."""
    serve_forks(context.find_root(), descriptor)


def _network(flags: _NetworkFlags) -> NodeNetwork:
    """Return the network that the flags specify.

    Raises:
        FsqlError: E646, if the keys cannot be used.
    """
    from fsql.console.reporter import Reporter
    from fsql.job.node_network import NodeNetwork
    from fsql.runtime.drivers.curve.keys import NodeKeys

    reporter = Reporter(json=flags["as_json"])

    def warn(problem: str) -> None:
        reporter.inform("problem", {"problem": problem}, f"warning: {problem}\n")

    keys = flags["keys"]
    curve = None if keys is None else NodeKeys(keys, flags["fingerprint"])
    return NodeNetwork(curve, flags.get("listen"), warn)
