"""`fsql up`, `down`, `ps` and `doctor`, and the commands that the agent starts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsql.console import exit_codes
from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory, coordination, coordination_credentials, keys
from fsql.console.forked_commands import open_fork_server, spawn_agent
from fsql.console.machines import down_machine, up_machine

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.deployment.directory import ClusterDirectory, StatisticsSettings

_PATH = click.Path(path_type=Path)


@click.command(short_help="Start the agent that keeps deployed jobs running.")
@cluster_directory
@click.option(
    "--foreground", is_flag=True, help="Run the agent in this process until it is stopped."
)
@coordination
@coordination_credentials
@keys
@click.option(
    "--stats",
    "collector",
    type=click.Choice(["built-in", "spark"]),
    help="Collector that computes statistics; with spark, the agent keeps `fsql stats serve` running.",
)
@click.option(
    "--stats-master",
    "master",
    metavar="URL",
    help="Spark master of --stats spark: local[N], spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…  "
    "Default: the variable FSQL_SPARK_MASTER, or local[*].",
)
@click.option(
    "--ui/--no-ui",
    "page",
    default=None,
    help="Whether the agent serves the page of `fsql ui`, on the loopback interface.  Default: it does.",
)
@click.option(
    "--ui-port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="Port of the page.  Default: a free one.",
)
@click.option(
    "--machine",
    metavar="NAME",
    help="Start the agent of another machine, NAME, which runs the workers that jobs have there.",
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="With --machine: address at which other nodes reach its workers, tcp://HOST:*.",
)
@pass_reporter
def up(
    reporter: Reporter,
    directory: Path | None,
    collector: str | None,
    master: str | None,
    machine: str | None,
    *,
    foreground: bool,
    **flags: Any,  # noqa: ANN401 - flags of click
) -> None:
    """Start the agent of a cluster directory, which is created if it does not exist.

    The agent starts the jobs that were deployed there and not stopped, and starts them again when they fail.
    It listens on the loopback; users who can read DIR/agent.key can change jobs.  The cluster directory is
    --dir, else that of the variable FSQL_DIR, else .fsql in the working directory or the nearest one above
    it.

    --coordination, --coordination-credentials and --keys are for jobs that are deployed from now on; they
    stay until others are given.  So do --stats and --ui, whether the agent runs already or not.

    The address of the page has a token that is new at each start; `fsql up` prints it again.  Without the
    packages of the extra `ui`, or with FSQL_UI=0 in the environment, there is no page.

    With --machine, the agent is that of another machine of the cluster, which sees the cluster directory at
    the same path.  It runs the workers that jobs have there (fsql deploy --on NAME=N), with its own --keys,
    --listen and --coordination-credentials, and starts them again when they end.
    """
    from fsql.compiler.diagnostics.secrets import without_secrets
    from fsql.console.connections import connections_of
    from fsql.deployment.connections import Connections
    from fsql.deployment.directory import find_directory

    root = click.get_current_context().find_root()
    cluster = find_directory(directory)
    if machine is not None:
        if collector is not None or flags["coordination"] is not None:
            raise click.UsageError("--stats and --coordination cannot be used with --machine")
        up_machine(root, reporter, cluster, machine, flags, foreground=foreground)
        return
    if flags["listen"] is not None:
        raise click.UsageError("--listen requires --machine")
    connections = connections_of(flags)
    if connections != Connections():
        connections.check()
        cluster.create()
        cluster.set_connections(connections.or_else(cluster.connections()))
    _set_page(cluster, flags["page"], flags["ui_port"])
    settings = _set_collector(cluster, collector, master)
    if settings is not None:
        master = without_secrets(settings.master)
        chosen = {"collector": settings.collector, "master": master}
        what = f"Spark, {master}" if settings.collector == "spark" else "the built-in one"
        reporter.inform("collector", chosen, f"the collector of statistics is {what}\n")
    if foreground:
        if not _run_agent(root, cluster):
            reporter.inform("up", {"started": False}, "an agent is already running\n")
        return
    from fsql.deployment.startup import start_agent

    started = start_agent(cluster, partial(spawn_agent, root))
    fields = {"directory": str(cluster.path), "agent": cluster.agent(), "started": started}
    what = "started" if started else "runs already"
    page = _page_of(cluster)
    if page is not None:
        fields["page"] = page
    shown = "" if page is None else f"the page is at {page}\n"
    reporter.inform("up", fields, f"the agent of {cluster.path} {what}\n{shown}")


def _set_page(cluster: ClusterDirectory, wanted: bool | None, port: int | None) -> None:  # noqa: FBT001
    """Record whether the agent serves the page, where this is said."""
    if wanted is None and port is None:
        return
    from fsql.deployment.directory import PageSettings

    cluster.create()
    before = cluster.page_settings()
    cluster.set_page_settings(
        PageSettings(
            before.wanted if wanted is None else wanted, before.port if port is None else port
        )
    )


def _page_of(cluster: ClusterDirectory) -> str | None:
    """Return the address of the page that the agent serves, once it answers."""
    from fsql.deployment.page_process import is_wanted, missing_package, wait_for_page

    if not is_wanted(cluster) or missing_package() is not None:
        return None
    return wait_for_page(cluster)


def _run_agent(root: click.Context, cluster: ClusterDirectory) -> bool:
    """Run the agent; return False if another one runs.

    Raises:
        FsqlError: E632, if the cluster directory cannot be used; E602, if its key cannot be used.
    """
    from fsql.deployment.agent import run_agent

    with open_fork_server(root) as fork_server:
        return run_agent(cluster, fork_server.start)


def _set_collector(
    cluster: ClusterDirectory, collector: str | None, master: str | None
) -> StatisticsSettings | None:
    """Record the collector that computes statistics, if one is requested, and return it.

    Raises:
        click.UsageError: if there is a Spark master, and no Spark.
        FsqlError: E644 or E663, if Java or a package for Spark is missing; E632, if the directory cannot
            be used.
    """
    from fsql.deployment.directory import StatisticsSettings
    from fsql.runtime.drivers.spark.master import master_or_default
    from fsql.runtime.drivers.spark.session import check_spark

    if master is not None and collector != "spark":
        raise click.UsageError("--stats-master requires --stats spark")
    if collector == "spark":
        settings = StatisticsSettings("spark", master_or_default(master))
        check_spark(settings.master)
    elif collector is not None:
        settings = StatisticsSettings()
    else:
        return None
    cluster.create()
    cluster.set_statistics_settings(settings)
    return settings


@click.command(short_help="Stop the agent and all jobs.")
@cluster_directory
@click.option(
    "--machine",
    metavar="NAME",
    help="Stop the agent of another machine and its workers; to be run on that machine.",
)
@pass_reporter
def down(reporter: Reporter, directory: Path | None, machine: str | None) -> None:
    """Stop the agent and the processes of all jobs.

    Jobs keep their state; `fsql up` starts them again.
    """
    from fsql.deployment.directory import find_directory
    from fsql.deployment.startup import stop_agent

    cluster = find_directory(directory)
    if machine is not None:
        down_machine(reporter, cluster, machine)
        return
    stop_agent(cluster)
    fields = {"directory": str(cluster.path)}
    reporter.inform("down", fields, f"the agent of {cluster.path} and all jobs are stopped\n")


@click.command(short_help="List the processes of the agent and of all jobs.")
@cluster_directory
@pass_reporter
def ps(reporter: Reporter, directory: Path | None) -> None:
    """List the processes of the agent and of all jobs, with their use of memory and processor time.

    Those of other machines are listed as their agents last reported them.  With --json, standard output has
    one object: {"processes": [{"pid", "role", "job", "memory_bytes", "cpu_seconds", "machine"}]}.
    """
    from msgspec import to_builtins

    from fsql.compiler.diagnostics.numbers import bytes_text
    from fsql.console.text_table import text_table
    from fsql.deployment.directory import find_directory
    from fsql.deployment.views import processes

    cluster = find_directory(directory)
    found = processes(cluster)
    if cluster.cluster() is None:
        fields = {"directory": str(cluster.path), "exists": False}
        reporter.inform("ps", fields, f"{cluster.path} is no cluster directory\n")
    if reporter.json:
        click.echo(json.dumps({"processes": to_builtins(found)}))
        return
    rows = [
        (
            str(each.pid),
            each.role,
            each.job or "",
            each.machine or "",
            bytes_text(each.memory_bytes),
            f"{each.cpu_seconds:.1f} s",
        )
        for each in found
    ]
    header = ("pid", "role", "job", "machine", "memory", "processor")
    click.echo(text_table(header, rows), nl=False)


@click.command(short_help="Check the cluster directory and this machine.")
@cluster_directory
@pass_reporter
def doctor(reporter: Reporter, directory: Path | None) -> None:
    """Check the cluster directory, its key, the agent, the disk, and every job; name the remedies.

    The exit code is 1 if a check fails.  With --json, standard output has one object: {"checks": [{"name",
    "passed", "found", "remedy"}]}.
    """
    from dataclasses import asdict

    from fsql.deployment.directory import find_directory
    from fsql.deployment.doctor import checks

    found = list(checks(find_directory(directory)))
    if reporter.json:
        click.echo(json.dumps({"checks": [asdict(each) for each in found]}, ensure_ascii=False))
    elif not reporter.quiet:
        for each in found:
            mark, remedy = ("✓" if each.passed else "✗"), f"; {each.remedy}" if each.remedy else ""
            click.echo(f"{mark} {each.name}: {each.found}{remedy}")
    if not all(each.passed for each in found):
        click.get_current_context().exit(exit_codes.USER_ERROR)


@click.command(hidden=True)
@click.option("--dir", "directory", required=True, type=_PATH)
def agent(directory: Path) -> None:
    """Run the agent; `fsql up` starts this."""
    from fsql.deployment.directory import ClusterDirectory

    _run_agent(click.get_current_context().find_root(), ClusterDirectory(directory.absolute()))


@click.command("machine-agent", hidden=True)
@click.option("--dir", "directory", required=True, type=_PATH)
@click.argument("name")
def machine_agent(directory: Path, name: str) -> None:
    """Run the agent of a machine; `fsql up --machine` starts this."""
    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.machine_agent import run_machine_agent
    from fsql.deployment.machines import machine_of

    cluster = ClusterDirectory(directory.absolute())
    with open_fork_server(click.get_current_context().find_root()) as fork_server:
        run_machine_agent(cluster, machine_of(cluster, name), fork_server.start)


@click.command(hidden=True)
@click.pass_context
def job(context: click.Context) -> None:
    """Run the job whose directory is a line of standard input; the agent starts this."""
    from fsql.deployment.runner import run_next_job

    context.exit(run_next_job(partial(open_fork_server, context.find_root())))
