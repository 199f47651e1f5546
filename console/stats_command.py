"""`fsql stats`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import NameAndValue, cluster_directory, define
from fsql.console.interrupt import exit_if_interrupted
from fsql.console.state_of_job import any_state, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.console.reporter import Reporter

_master_of_spark = click.option(
    "--master",
    metavar="URL",
    help="Master of --spark: local[N], spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…  "
    "Default: the variable FSQL_SPARK_MASTER, or local[*].",
)


class _WithCommands(click.Command):
    """A command whose first argument may be the name of another command."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - as click has it
    ) -> click.Context:
        """Parse the command line."""
        for command in (serve, profile):
            if args[:1] == [command.name]:
                name = f"{info_name} {command.name}"
                return command.make_context(name, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("serve")
@cluster_directory
@click.option(
    "--master",
    metavar="URL",
    help="Spark master: local[N], spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…  "
    "Default: the variable FSQL_SPARK_MASTER, or local[*].",
)
@click.option("--until-end-of-input", is_flag=True, hidden=True)
@pass_reporter
def serve(
    reporter: Reporter, directory: Path | None, master: str | None, *, until_end_of_input: bool
) -> None:
    """Keep Spark running, and compute the statistics of the running jobs of a cluster directory.

    Each time the workers of a job have written a newer interval, Spark computes the tables of `fsql stats`
    and writes them into the state directory of the job.  `--auto`, `fsql stats` and `fsql top` use them while
    they are at most one interval old, and otherwise compute them without Spark.  The service ends with
    Ctrl-C or SIGTERM.  The agent runs one after `fsql up --stats spark`; a cluster directory has one at most.
    """
    from fsql.console.stats import serve_statistics
    from fsql.deployment.directory import find_directory
    from fsql.runtime.drivers.spark.master import master_or_default

    cluster = find_directory(directory)
    serve_statistics(
        reporter, cluster, master_or_default(master), until_end_of_input=until_end_of_input
    )


@click.command("profile")
@click.argument("script", required=False)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Output file for the profile.",
)
@define
@click.option("--spark", is_flag=True, help="Read the input on Spark.")
@_master_of_spark
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=NameAndValue(),
    help="Read TABLE=NAME, a table of Spark's catalog or files, parquet.`/data/t`, instead of a table.",
)
@pass_reporter
def profile(
    reporter: Reporter,
    script: str | None,
    output: Path | None,
    parameters: tuple[tuple[str, str], ...],
    tables: tuple[tuple[str, str], ...],
    **of_spark: Any,  # noqa: ANN401 - flags, given by click
) -> None:
    """Read the input of SCRIPT at rest, and count what the optimizer uses.

    It counts the rows of each split, the rows of each bin of each stateful operator that reads tables, the
    rows of frequent keys, the approximate number of keys, and the rows that filters drop.  Tables that are
    not at rest are skipped: standard input, sockets, followed files, and tables with a rate or no end.

    With -o, the profile is a file for --profile of `fsql run`, `fsql deploy` and `fsql explain`, which then
    start with a plan for this input.  With --json, it goes to standard output.

    With --spark, tasks of Spark read the splits.  The counts are the same.  With --table orders=sales.orders,
    they read the table sales.orders of Spark's catalog instead of the table orders of SCRIPT, which may be
    live: its history is profiled.  The columns must have the same names, and values that fit.
    """
    from fsql.console.profile import show_profile
    from fsql.console.project.scripts import one_script

    master = _master(of_spark)
    if tables and master is None:
        raise click.UsageError("--table requires --spark")
    the_script = one_script(script, None, dict(parameters))
    with exit_if_interrupted():
        show_profile(the_script, output, master, reporter, dict(tables))


@click.command(cls=_WithCommands, short_help="Show the statistics of a job.")
@click.argument("name", metavar="[JOB]", required=False)
@any_state
@cluster_directory
@click.option("--spark", is_flag=True, help="Compute the statistics on Spark.")
@_master_of_spark
@pass_reporter
def stats(
    reporter: Reporter,
    name: str | None,
    state: Path | None,
    directory: Path | None,
    **of_spark: Any,  # noqa: ANN401 - flags, given by click
) -> None:
    """Show what the workers of JOB, or of the run with the state directory --state, have measured.

    Workers write statistics at intervals.  The command uses the last 12 intervals; newer ones have more
    weight.  It shows how busy each worker was, the time that each operator took, the disorder in the input of
    each stateful operator, the rows of each split and for how long it was blocked, what was sent to other
    workers, the rows of each part of the 4,096 bins, and frequent keys.

    With --json, standard output has one object: "results", the version of the tables, and the tables "loads",
    "heavy", "costs", "folds", "fronts", "workers", "operators", "pairs", "latency", "links" and "problems",
    which are described in docs/optimizer.md.

    With --spark, Spark computes the same tables.  Its machines must see the state directory at the same path,
    except those of a Spark Connect server, sc://HOST:PORT, which is given the rows.

    `fsql stats serve` keeps Spark running for the jobs of a cluster directory; see `fsql stats serve --help`.
    `fsql stats profile SCRIPT` profiles the input of a script; see `fsql stats profile --help`.
    A job with the name "serve" or "profile" is named after a flag: `fsql stats --dir DIR serve`.
    """
    from fsql.console.stats import show_statistics

    with exit_if_interrupted():
        show_statistics(reporter, state_of(name, state, directory), _master(of_spark))


def _master(flags: Mapping[str, Any]) -> str | None:
    """Return the Spark master, None without Spark.

    Raises:
        click.UsageError: if there is a master, and no Spark.
    """
    if flags["master"] is not None and not flags["spark"]:
        raise click.UsageError("--master requires --spark")
    if not flags["spark"]:
        return None
    from fsql.runtime.drivers.spark.master import master_or_default

    return master_or_default(flags["master"])
