"""`fsql bench`: commands that measure what the plan of a job gains, and what a job takes on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

import click

from fsql.benchmarks.flags import number, picture, seconds
from fsql.benchmarks.report import print_measurements
from fsql.console.commands import pass_reporter

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command(
    "sharing", short_help="Measure the order of conditions, and queries with a common prefix."
)
@number("--rows", "Number of rows of each run.", 4_000_000)
@seconds("--tick", "Seconds between two choices of `auto`.", 1.0, least=0.1)
@number("--rounds", "Number of runs of each variant.", 1)
@picture("the processor time of each variant")
@pass_reporter
def sharing(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Filter rows by an expensive and a cheap condition, and run two queries after an expensive one.

    "first" and "last" are where the expensive condition is written; "first-auto" and "last-auto" are the same
    with ticks that are chosen.  "one" is a query after an expensive condition, "two" are two of them.
    "busy_seconds" is the processor time of the worker.  "bytes_equal" compares the output of the first
    query with that of the first run.  After the runs, the medians of the times are compared.
    """
    from fsql.benchmarks.sharing import Sharing, measure_sharing, sharing_svg

    measured = []
    for fields in measure_sharing(Sharing(**flags)):
        measured.append(fields)
        print_measurements(reporter, [fields])
    if picture is not None:
        click.echo(sharing_svg(measured), picture, nl=False)


@click.command(
    "start", short_help="Measure the processor time of short commands, and their imports."
)
@number("--rounds", "Number of runs of each command.", 7)
@pass_reporter
def start(reporter: Reporter, rounds: int) -> None:
    """Run short commands over ten lines by turns, and list what they import.

    "processor_seconds" is the median, "ratio" that of the same query in SQLite from Python.
    """
    from fsql.benchmarks.start import measure_start

    print_measurements(reporter, measure_start(rounds))


@click.command("correlated", short_help="Measure the order of conditions that are not independent.")
@number("--rows", "Number of rows of each run.", 2_000_000)
@number("--rounds", "Number of runs of each variant.", 3)
@pass_reporter
def correlated(reporter: Reporter, **flags: Any) -> None:  # noqa: ANN401
    """Filter rows by four conditions that are true for the same rows, and a slower one that drops more.

    "written" has the order of the script, "independent" one by a profile without pairs of conditions, "pairs"
    by the whole profile.  "busy_seconds" is the processor time of the worker.  "bytes_equal" compares the
    output with that of the first run.  After the runs, the medians of the times are compared.
    """
    from fsql.benchmarks.correlated import Correlated, measure_correlated

    for fields in measure_correlated(Correlated(**flags)):
        print_measurements(reporter, [fields])


@click.command(
    "hot-join", short_help="Compare a join whose hot key is divided with one where it is not."
)
@number("--rows", "Number of rows of each run.", 4_000_000)
@number("--share", "Percentage of rows with the hot key.", 60)
@number("--keys", "Number of keys of the other rows.", 1_000)
@number("--workers", "Number of workers, and of files that they read.", 4)
@number("--rounds", "Number of runs of each variant.", 1)
@picture("the throughput of each variant")
@pass_reporter
def hot_join(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Join rows of which most have one key, without and with the hint SKEW, by turns.

    "whole" has all rows of the hot key on one worker, "divided" on all of them.  "rows_per_busy_second" are
    rows by the processor time of the busiest worker, and "busiest_over_mean" is that time by the mean.
    "bytes_equal" compares the output with that of the first run.  After the runs, the medians of the
    throughputs are compared.
    """
    from fsql.benchmarks.hot_join import HotJoin, hot_join_svg, measure_hot_join

    measured = []
    for fields in measure_hot_join(HotJoin(**flags)):
        measured.append(fields)
        print_measurements(reporter, [fields])
    if picture is not None:
        click.echo(hot_join_svg(measured), picture, nl=False)


@click.command("profile", short_help="Measure what a profile of the input gains before a tick.")
@click.option(
    "--load",
    "loads",
    multiple=True,
    type=click.Choice(["joins", "maxima", "windows"]),
    help="What is measured; may be repeated. Default: all.",
)
@number("--rows", "Number of rows of each run.", 2_000_000)
@click.option(
    "--exponent",
    type=click.FloatRange(min=0, max=5),
    default=1.1,
    show_default=True,
    help="Exponent of Zipf's law.",
)
@number("--rounds", "Number of runs of each plan.", 3)
@pass_reporter
def profile(reporter: Reporter, **flags: Any) -> None:  # noqa: ANN401
    """Run the loads of `fsql bench skew` without and with a profile of their input, without ticks.

    "equal" gives each worker the same number of bins, "profiled" starts with the plan by the profile.
    "busiest_over_mean" is the processor time of the busiest worker by the mean, and "rows_per_busy_second"
    are rows by that time.  "bytes_equal" compares the output with that of the first run.  After the runs of a
    load, medians are compared.
    """
    from fsql.benchmarks.first_plan import FirstPlan, measure_first_plan

    for fields in measure_first_plan(FirstPlan(**flags)):
        print_measurements(reporter, [fields])


@click.command("spark", short_help="Compare scripts on Spark with plain Spark and DuckDB.")
@click.option("--queries", metavar="NAMES", help="Queries, such as groups,join. Default: all.")
@number("--rows", "Number of rows of the input.", 20_000_000)
@number("--files", "Number of files of the input, each read by one task.", 4)
@number("--cores", "Number of cores for Spark, and threads of DuckDB.", 2)
@number("--rounds", "Number of runs of each query on each engine.", 1)
@pass_reporter
def spark(reporter: Reporter, queries: str | None, **flags: Any) -> None:  # noqa: ANN401
    """Run queries over Parquet files: scripts of fsql on Spark, the same as SQL on Spark, and in DuckDB.

    "seconds" and "processor_seconds" are of the whole command, its start included, with all its processes;
    "start" is a query over few rows.  "rows_equal" compares the result with that of the first run of the
    query.  After the runs of a query, medians are compared.
    """
    from fsql.benchmarks.batch_engines import BatchLoad, measure_engines, query_names

    known = query_names()
    names = known if queries is None else queries.split(",")
    for name in names:
        if name not in known:
            raise click.UsageError(f'there is no query "{name}"; there are {", ".join(known)}')
    for fields in measure_engines(BatchLoad(names, **flags)):
        print_measurements(reporter, [fields])
