"""`fsql deploy`, `list`, `status`, `logs`, `stop`, `restart`, `rename` and `drop`: deployed jobs."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - click reads the annotations
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import (
    cluster_directory,
    coordination,
    coordination_credentials,
    define,
    delivery,
    existing_of,
    existing_outputs,
    keys,
    profile,
    tick_seconds,
    workers,
)
from fsql.console.interrupt import exit_if_interrupted

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.deployment.messages import Request


class _MachineAndCount(click.ParamType[tuple[str, int]]):
    """`machine=number`."""

    name = "name=n"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return the name of the machine and the number of workers."""
        name, equals, text = str(value).partition("=")
        if not (name and equals and text.isascii() and text.isdigit() and len(text) <= 3):
            self.fail(f'"{value}" is not of the form name=number', param, ctx)
        return name, int(text)


_name = click.argument("name")
_listen = click.option(
    "--listen",
    metavar="ADDRESS",
    help="Address at which workers join, tcp://HOST:PORT. Default: a free port of the loopback interface.",
)
_drain_seconds = click.option(
    "--drain-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Maximum time for the job to reach a committed position.",
)


@click.command(short_help="Run a script as a job of the agent.")
@click.argument("script")
@click.option(
    "--name", metavar="JOB", help="Name of the job. Default: that of SCRIPT without its suffix."
)
@click.option(
    "--into",
    metavar="JOB",
    help="Add SCRIPT to the script of JOB, which computes common parts once.",
)
@cluster_directory
@define
@workers("Number of workers. Default: 1.", None)
@click.option(
    "--snapshot-ms",
    type=click.IntRange(min=1),
    help="Milliseconds between two snapshots. Default: 1000.",
)
@delivery("Delivery guarantee of all outputs; overrides the option of their tables.")
@click.option(
    "--auto/--no-auto",
    default=None,
    help="Whether to choose ticks from statistics while the job runs. Default: --no-auto.",
)
@tick_seconds(
    "Interval at which workers write statistics and --auto chooses ticks; 0 for never. Default: 10.",
    None,
)
@profile
@coordination
@coordination_credentials
@keys
@_listen
@click.option(
    "--joining",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of workers that are started by hand with fsql worker. Default: 0.",
)
@click.option(
    "--on",
    "machines",
    multiple=True,
    type=_MachineAndCount(),
    help="Run N of the workers on the machine NAME, whose agent was started with fsql up --machine. "
    "May be repeated; NAME=0 removes all of them.",
)
@existing_outputs
@click.option("--dry-run", is_flag=True, help="Print what would be done, without doing it.")
@click.option("--rebuild", is_flag=True, help="Recompute all state by reading the input again.")
@click.option(
    "--allow-state-loss",
    is_flag=True,
    help="Drop the state of operators that are not in the new plan, and start new ones without state.",
)
@click.option(
    "--allow-inconsistent",
    is_flag=True,
    help="Let updating outputs continue from the rows of another query: changes will not add up.",
)
@click.option(
    "--bootstrap",
    is_flag=True,
    help="Compute state and output of the history on Spark first; the job continues from there.",
)
@click.option(
    "--bootstrap-until",
    metavar="TIME",
    help="End of the history: a timestamp, or a row number where rows have no event time. "
    "Default: after all rows of tables that are not live.",
)
@click.option(
    "--master",
    metavar="URL",
    help="Spark master for --bootstrap: local[N], spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…  "
    "Default: the variable FSQL_SPARK_MASTER, or local[*].",
)
@_drain_seconds
@pass_reporter
def deploy(
    reporter: Reporter, script: str, name: str | None, directory: Path | None, **flags: object
) -> None:
    """Compile SCRIPT, or take a compiled plan, and run it as a job of the agent.

    The job keeps its state in the cluster directory, is restarted when it fails, and continues after a
    restart of the machine when the agent is started again.  It has neither standard input nor output.

    If JOB runs, its plan is changed.  The command first prints which state is kept, and how long output
    will pause.  Then the job stops at a committed position, and continues there with the new plan: operators
    that compute the same keep their state.  A change that would lose state is refused unless --rebuild or
    --allow-state-loss is given.  An updating output gets the difference of the old and the new result at the
    position, and the command prints how many changes that is; where it cannot be computed from the state,
    the change is refused unless --allow-inconsistent is given.

    With --into, the statements of SCRIPT are added to those of JOB, whose plan is changed in the same way.
    Declarations that are equal to those of JOB are taken once.  Outputs of SCRIPT begin at the position of
    the change, or with --rebuild at the beginning of the input.

    --coordination, --coordination-credentials and --keys are those of fsql up unless given, and those of
    the job when its plan is changed; a job stays coordinated where it began.  --workers, --snapshot-ms,
    --delivery, --auto, --tick and --on stay as they were, too.

    --bootstrap is for a new job.  Spark processes the rows of its tables at rest, or those before
    --bootstrap-until.  The command writes their output and the state, and the job begins after them.  The
    outputs have the same bytes as without --bootstrap.

    With --json, standard output has one object for a change: "job", "position", "operators" (each with
    "operator", "text", "effect", "reason", "stored_rows", "bytes"), "outputs" ("kept", "added",
    "dropped", "inconsistent" and "differences", each with "output" and "changes"), "tables" ("added" and
    "dropped"), "kept_bytes" and "pause_seconds".
    """
    from fsql.console.deploy import deploy_script

    if flags["rebuild"] and flags["allow_state_loss"]:
        raise click.UsageError("--rebuild and --allow-state-loss cannot be used together")
    if flags["into"] is not None and (name is not None or flags["bootstrap"]):
        raise click.UsageError("--into cannot be used with --name or --bootstrap")
    if flags["bootstrap_until"] is not None and not flags["bootstrap"]:
        raise click.UsageError("--bootstrap-until requires --bootstrap")
    existing = existing_of(overwrite=bool(flags["overwrite"]), append=bool(flags["append"]))
    with exit_if_interrupted():
        deploy_script(reporter, script, name, directory, existing.value, flags)


@click.command("list", short_help="List the jobs.")
@cluster_directory
@pass_reporter
def list_(reporter: Reporter, directory: Path | None) -> None:
    """List the deployed jobs with their states.

    With --json, standard output has one object: {"jobs": [...]}, each as `fsql status --json` has it,
    without "ticks".
    """
    from fsql.console.job_status import job_json, jobs_text
    from fsql.deployment.directory import find_directory
    from fsql.deployment.views import views

    cluster = find_directory(directory)
    found = views(cluster)
    if cluster.cluster() is None:
        fields = {"directory": str(cluster.path), "exists": False}
        reporter.inform("list", fields, f"{cluster.path} is no cluster directory\n")
    if reporter.json:
        click.echo(json.dumps({"jobs": [job_json(each) for each in found]}, ensure_ascii=False))
    else:
        click.echo(jobs_text(found), nl=False)


@click.command(short_help="Show the state of a job.")
@_name
@click.option(
    "--why",
    is_flag=True,
    help="Also show what holds output back, what failed, and what comes next.",
)
@cluster_directory
@pass_reporter
def status(reporter: Reporter, name: str, directory: Path | None, *, why: bool) -> None:
    """Show the state of the job NAME, its counters, and its last ticks.

    With --json, standard output has one object: "name", "id", "state", "workers", "auto", "tick_seconds",
    "process", "phase", "epoch", "counters", "min_time", "held_by", "held_seconds", "snapshot_age_seconds",
    "failures", "error" (as diagnostics, or null), "why" (a list of sentences) and "ticks" (the last three,
    the newest first, as `fsql tick list --json` has them; null if they cannot be read).

    "counters" has "rows_in", "bytes_in", "rows_out", "rows_late", "rows_rejected", "rows_state" (rows and
    groups in the state), "rows_held" (rows that wait for earlier ones), "rows_unreleased" (rows that were
    read and not released yet), "behind_us" (the age of the oldest of these, in microseconds), "recoveries"
    and "snapshots"; it is empty before the job has run.
    """
    from fsql.console.job_status import job_json, status_lines, why_lines
    from fsql.console.last_ticks import LastTicks
    from fsql.deployment.directory import find_directory
    from fsql.deployment.views import view_of

    cluster = find_directory(directory)
    view = view_of(cluster, cluster.find_job(name)[0])
    ticks = LastTicks.of(view.directory.state)
    if reporter.json:
        fields = job_json(view) | {"ticks": ticks.fields()}
        click.echo(json.dumps(fields, ensure_ascii=False))
    else:
        lines = [*status_lines(view), *ticks.lines(), *(why_lines(view) if why else ())]
        click.echo("\n".join(lines))
        if view.error is not None and why:
            reporter.error(view.error)


@click.command(short_help="Print the log of a job.")
@_name
@click.option(
    "--follow", "-f", is_flag=True, help="Print new lines as they are written, until Ctrl-C."
)
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="Number of lines to print first.",
)
@cluster_directory
@pass_reporter
def logs(
    reporter: Reporter, name: str, directory: Path | None, *, follow: bool, lines: int
) -> None:
    """Print the last lines of the log of the job NAME.

    With --json, each line is an object with "ts" (seconds since 1970) and "event"; what its processes
    wrote to standard error is an event "output" with a "line".
    """
    from fsql.console.job_logs import print_logs
    from fsql.deployment.directory import find_directory

    job, _ = find_directory(directory).find_job(name)
    print_logs(job, lines, follow=follow, as_json=reporter.json)


@click.command(short_help="Print the script of a job.")
@_name
@cluster_directory
@pass_reporter
def script(reporter: Reporter, name: str, directory: Path | None) -> None:
    """Print the script of the job NAME, with the scripts that were added to it.

    It can be saved, changed, and deployed again with --name NAME.  A message says which directory relative
    paths start from, and which flags the script needs.  With --json, standard output has one object: {"job",
    "script", "directory", "parameters", "functions"}.
    """
    from fsql.console.job_script import print_script
    from fsql.deployment.directory import find_directory

    print_script(reporter, find_directory(directory), name)


@click.command(short_help="Stop a job.")
@_name
@click.option("--drain", is_flag=True, help="Stop at a committed position.")
@_drain_seconds
@cluster_directory
@pass_reporter
def stop(
    reporter: Reporter, name: str, directory: Path | None, *, drain: bool, drain_seconds: float
) -> None:
    """Stop the job NAME.  It keeps its state; `fsql restart` starts it again.

    With --drain, the job takes a last snapshot and releases exactly the rows before its position, so that
    nothing has to be computed again.
    """
    from fsql.deployment.messages import Stop

    seconds = drain_seconds if drain else None
    done = "finished" if _has_finished(directory, name) else "stopped"
    _ask(reporter, directory, Stop(name, seconds), done, name, (seconds or 0.0) + 60.0)


@click.command(short_help="Start a job again.")
@_name
@keys
@_listen
@cluster_directory
@pass_reporter
def restart(reporter: Reporter, name: str, directory: Path | None, **flags: object) -> None:
    """Start the job NAME, which was stopped or has failed; stop it first if it runs.

    It continues from its newest snapshot.  --keys and --listen are those of the job unless given, also when
    it is started again later.
    """
    from fsql.console.connections import connections_of
    from fsql.deployment.directory import find_directory
    from fsql.deployment.messages import Start

    connections = connections_of(flags)
    _, deployed = find_directory(directory).find_job(name)
    connections.or_else(deployed.connections).check()
    done = "finished" if _has_finished(directory, name) else "started"
    _ask(reporter, directory, Start(name, connections), done, name)


@click.command(short_help="Rename a job.")
@_name
@click.argument("new_name")
@cluster_directory
@pass_reporter
def rename(reporter: Reporter, name: str, new_name: str, directory: Path | None) -> None:
    """Rename the job NAME to NEW_NAME.  A running job keeps running."""
    from fsql.deployment.messages import Rename

    _ask(reporter, directory, Rename(name, new_name), f"renamed to {new_name}", name)


@click.command(short_help="Stop a job and remove its state.")
@_name
@cluster_directory
@pass_reporter
def drop(reporter: Reporter, name: str, directory: Path | None) -> None:
    """Stop the job NAME, and remove its state and its log.  Its output files stay."""
    from fsql.deployment.messages import Drop

    _ask(reporter, directory, Drop(name), "dropped", name)


def _ask(
    reporter: Reporter,
    directory: Path | None,
    request: Request,
    done: str,
    name: str,
    seconds: float = 60.0,
) -> None:
    """Send a request to the agent, and report that it was carried out."""
    from fsql.deployment.client import ask_agent
    from fsql.deployment.directory import find_directory

    answer = ask_agent(find_directory(directory), request, seconds=seconds)
    fields = {"job": name, "id": answer.job, "seconds": round(answer.seconds, 3)}
    text = f"{name} is {done}\n"
    if done == "finished":
        text = f"{name} has finished: all results are written\n"
    reporter.inform(done.split(maxsplit=1)[0], fields, text)


def _has_finished(directory: Path | None, name: str) -> bool:
    """Return whether a job has finished, so that it cannot be stopped or continued."""
    from fsql.deployment.directory import find_directory

    job, _ = find_directory(directory).find_job(name)
    outcome = job.outcome()
    return job.runner() is None and outcome is not None and outcome.kind == "finished"
