"""`fsql stats`: its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fsql.console.cluster_commands import cluster_directory
from fsql.console.commands import reporting
from fsql.console.state_of_job import any_state, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.console.reporter import Reporter


@click.command(short_help="Show the statistics of a job.")
@click.argument("name", metavar="[JOB]", required=False)
@any_state
@cluster_directory
@click.option("--spark", is_flag=True, help="Compute them on Spark.")
@click.option(
    "--master",
    metavar="URL",
    help="Master of --spark: local[N], spark://HOST:PORT, yarn, k8s://…  Default: local[*].",
)
@reporting
def stats(
    reporter: Reporter,
    name: str | None,
    state: Path | None,
    directory: Path | None,
    **of_spark: Any,  # noqa: ANN401 - flags, given by click
) -> None:
    """Show what the workers of JOB, or of the run with the state directory --state, have measured.

    Workers write statistics at intervals, and the last 12 intervals count, newer ones more.  Shown are how
    busy each worker was, what each operator took, the disorder that each stateful operator met, what each
    split delivered, how many rows went into each part of the 4,096 bins, and the keys that many rows have.

    With --json, standard output has one object: "results", the version of the tables, and the tables "loads",
    "heavy", "costs", "folds", "fronts", "workers" and "problems", which are described in docs/optimizer.md.

    With --spark, Spark computes the same tables.  Its machines must see the state directory at the same path.
    """
    from fsql.console.stats import show_statistics

    if of_spark["master"] is not None and not of_spark["spark"]:
        raise click.UsageError("--master is given with --spark")
    master = (of_spark["master"] or "local[*]") if of_spark["spark"] else None
    show_statistics(reporter, state_of(name, state, directory), master)
