"""`fsql bench`: its commands and their flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

import click

from fsql.benchmarks.flags import (
    choice,
    exponents,
    number,
    numbers,
    picture,
    seconds,
    shards,
    state_mib,
)
from fsql.benchmarks.plan_commands import correlated, hot_join, profile, sharing, spark, start
from fsql.benchmarks.report import print_measurements
from fsql.console.commands import pass_reporter
from fsql.console.flags import delivery, snapshot_ms, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.console.reporter import Reporter

    Command = Callable[..., None]


@click.group(short_help="Measure fsql on this machine.")
def bench() -> None:
    """Measure fsql on this machine, with generated input; docs/benchmarks.md describes the measurements."""


def _on_text(name: str, rows_are: str) -> Command:
    """Return the command that measures a benchmark over text, and add it to `bench`."""

    @bench.command(name, short_help=f"Measure throughput or latency; rows are {rows_are}.")
    @number("--rate", "Rows per second. Default: as fast as possible.")
    @seconds("--seconds", "Duration with --rate, in seconds.", 20.0, least=0.1)
    @number("--rows", "Number of rows without --rate.")
    @click.option("--blackhole", is_flag=True, help="Write no result file, in one process.")
    @delivery("Delivery guarantee; measures a run on processes.")
    @numbers("--snapshot-ms", "Milliseconds between snapshots; with commas, a list.", "1000")
    @shards("Number of files of the result, on processes.")
    @workers("Number of workers.")
    @pass_reporter
    def measured(reporter: Reporter, rate: int | None, workers: int, **flags: Any) -> None:  # noqa: ANN401
        if workers == 1 and flags["delivery"] is None:
            _in_one_process(name, reporter, rate, flags)
            return
        from fsql.benchmarks.cluster import Promise, latencies, throughputs

        promise = Promise(flags["delivery"] or "exactly-once", flags["snapshot_ms"])
        if rate is None:
            rows, files = flags["rows"], flags["shards"]
            found = throughputs(_benchmark(name), rows, workers, promise, files)
            print_measurements(reporter, found)
            return
        if name != "inverted-index":
            raise click.UsageError("--rate on several processes is for inverted-index")
        print_measurements(reporter, latencies(rate, flags["seconds"], workers, promise))

    return measured


def _in_one_process(
    name: str, reporter: Reporter, rate: int | None, flags: Mapping[str, Any]
) -> None:
    from fsql.benchmarks.measure import Load, measure
    from fsql.benchmarks.report import measured_json, measured_text

    load = Load(flags["rows"], rate, flags["seconds"], blackhole=flags["blackhole"])
    measured = measure(_benchmark(name), load)
    click.echo(measured_json(measured) if reporter.json else measured_text(measured), nl=False)


def _benchmark(name: str) -> Any:  # noqa: ANN401 - its type takes long to import
    from importlib import import_module

    return import_module(f"fsql.benchmarks.{name.replace('-', '_')}").BENCHMARK


_on_text("inverted-index", "documents of 300 words on average")
_on_text("word-count", "lines of 300 words")


@bench.command(short_help="Measure recovery from the loss of a worker or of the coordinator.")
@number("--rate", "Documents per second.", 50)
@seconds("--seconds", "Duration in seconds.", 60.0)
@snapshot_ms
@state_mib("MiB of state before the measurement starts.")
@number("--kills", "Number of kills.", 3)
@choice("--kill", ("worker", "coordinator"), "Process to kill.")
@choice("--by", ("kill", "stop", "pause"), "SIGKILL; SIGSTOP; or SIGSTOP, and SIGCONT 7 s later.")
@picture()
@workers("Number of workers.", default=2)
@pass_reporter
def recovery(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Kill or stop workers or the coordinator while documents flow; report how long output stops.

    For each kill: milliseconds from it until the loss was known, all workers were there again, outputs had
    answered, state was loaded, the first new row was there, and documents did not wait for others any more.
    """
    from fsql.benchmarks.curve import latency_svg
    from fsql.benchmarks.recovery import Harm, recover
    from fsql.console.chart import Mark

    recovered = recover(Harm(**flags))
    print_measurements(reporter, recovered.fields())
    if picture is not None:
        run = recovered.run
        kills = [Mark(at - run.start, flags["by"]) for at in recovered.kills]
        title = f"latency, {flags['rate']} documents a second, {flags['workers']} workers"
        click.echo(latency_svg(title, run.due - run.start, run.late_ms, kills), picture, nl=False)


@bench.command(short_help="Measure the cost of a layout tick.")
@state_mib("MiB of state; half of it moves.")
@number("--rate", "Rows per second.", 2000)
@seconds("--seconds", "Duration in seconds.", 20.0)
@snapshot_ms
@pass_reporter
def migration(reporter: Reporter, **flags: Any) -> None:  # noqa: ANN401
    """Move half of the state between two workers while rows flow.

    "gap_ms" is the longest time between two releases from the proposal until a second after the tick,
    "latency_ms_p99" is of the second around it.  Fields that begin with "quiet" are of the time before.
    "bytes_equal" states whether the output is as without a tick.
    """
    from fsql.benchmarks.migration import Migration, migrate

    print_measurements(reporter, [migrate(Migration(**flags))])


@bench.command(short_help="Measure latency while the load rises and falls.")
@number("--rate", "Documents per second.", 50)
@number("--peak-rate", "Documents per second during the peak.", 5000)
@seconds("--seconds", "Seconds before the peak, and after it.", 15.0)
@seconds("--peak-seconds", "Seconds of the peak.", 5.0)
@number("--words", "Words of a document, on average.", 300)
@snapshot_ms
@click.option(
    "--propose",
    is_flag=True,
    help="Begin with one worker, and propose two for the peak. Default: two, keys move by load.",
)
@picture()
@pass_reporter
def elastic(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Let the load rise to a peak and fall again, and report the latency of each phase and each tick.

    "gap_ms" is the longest time between two releases: in a phase, from the proposal of a tick until a second
    after it, and of all.  "proposed_s" is in seconds from the first document.  "bytes_equal" says whether the
    output is that of one worker without ticks.
    """
    from fsql.benchmarks.elastic import Elastic, measure_elastic

    measured = measure_elastic(Elastic(**flags))
    print_measurements(reporter, measured.fields())
    if picture is not None:
        click.echo(measured.picture(), picture, nl=False)


@bench.command(short_help="Compare equal bins, automatic ticks and the best plan on frequent keys.")
@click.option(
    "--load",
    "loads",
    type=click.Choice(["joins", "maxima", "windows"]),
    multiple=True,
    help="Load to run; may be repeated. Default: all loads, one after the other.",
)
@number("--rows", "Number of rows of each run.", 2_000_000)
@exponents
@seconds("--tick", "Seconds between two choices of `auto`.", 1.0, least=0.1)
@number("--rounds", "Number of runs of each plan.", 1)
@picture("the load of the busiest worker for each plan")
@pass_reporter
def skew(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Run joins, MAX over updates, and a window by frequent keys, on 2 workers, with three plans by turns.

    "equal" gives each worker the same number of bins, which has the most frequent keys on one worker; "auto"
    chooses ticks; "best" levels the rows of all keys, known beforehand.  "busiest_over_mean" is of the
    processor time of the workers, "rows_over_mean_at_end" of all rows by the last owners.
    "rows_per_busy_second" are rows by the processor time of the busiest worker; "busiest_over_mean_at_end" is
    that of the last third of the run.  "chooser_seconds" is the processor time of the process that chooses
    ticks.  "bytes_equal" compares the output with that of the first run.  After the runs of a load, the
    medians of the throughputs are compared.
    """
    from fsql.benchmarks.skew import Skew, measure_skew, skew_svg

    measured = []
    for fields in measure_skew(Skew(**flags)):
        measured.append(fields)
        print_measurements(reporter, [fields])
    if picture is not None:
        click.echo(skew_svg(measured), picture, nl=False)


@bench.command(
    "hot-key", short_help="Compare equal bins, automatic ticks and the best plan on one hot key."
)
@number("--rows", "Number of rows of each run.", 4_000_000)
@number("--share", "Percentage of rows with the hot key.", 60)
@number("--keys", "Number of keys of the other rows.", 1_000)
@number("--workers", "Number of workers, and of files that they read.", 2)
@seconds("--tick", "Seconds between two choices of `auto`.", 1.0, least=0.1)
@number("--rounds", "Number of runs of each plan.", 1)
@picture("the throughput of each plan")
@pass_reporter
def hot_key(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Run a window of a day over rows of which most have one key, with three plans by turns.

    "equal" gives each worker the same number of bins; "auto" chooses ticks; "best" pre-aggregates the rows of
    the hot key as soon as the run has begun.  "rows_per_busy_second" are rows by the processor time of the
    busiest worker.  "busiest_over_mean" is of the processor time of the workers, and at the end that of the
    last third of the run.  "bytes_equal" compares the output with that of the first run.  After the runs, the
    medians of the throughputs are compared.
    """
    from fsql.benchmarks.hot_key import HotKey, hot_key_svg, measure_hot_key

    measured = []
    for fields in measure_hot_key(HotKey(**flags)):
        measured.append(fields)
        print_measurements(reporter, [fields])
    if picture is not None:
        click.echo(hot_key_svg(measured), picture, nl=False)


@bench.command(
    short_help="Compare equal bins, automatic ticks and the best plan on hot keys that move."
)
@number("--rows", "Number of rows of each run.", 4_000_000)
@number("--moves", "Number of times that other keys become the frequent ones.", 3)
@click.option(
    "--exponent",
    type=click.FloatRange(min=0, max=4),
    default=1.4,
    show_default=True,
    help="Exponent of Zipf's law.",
)
@seconds("--tick", "Seconds between two choices of `auto`, and of an interval.", 1.0, least=0.1)
@number("--rounds", "Number of runs of each plan.", 1)
@picture("the load of the busiest worker by the mean in each interval")
@pass_reporter
def drift(reporter: Reporter, picture: TextIO | None, **flags: Any) -> None:  # noqa: ANN401
    """Join rows by frequent keys that move from one worker to the other, with three plans by turns.

    "equal" gives each worker the same number of bins; "auto" chooses ticks; "best" levels each part of the
    rows, known beforehand, when the run comes to it.  "by_tick" has the processor time of the busiest worker
    by the mean in each interval, and "busiest_over_mean" is that of all intervals together: the sum of the
    greatest by the sum of the means.  "busiest_over_mean_of_run" is that of whole runs, in which keys that
    move look level.  "rows_per_busy_second" are rows by the processor time of the busiest worker.
    "bytes_equal" compares the output with that of the first run.  After the runs, medians are compared.
    """
    from fsql.benchmarks.drift import Drift, drift_svg, measure_drift

    measured = []
    for fields in measure_drift(Drift(**flags)):
        measured.append(fields)
        print_measurements(reporter, [fields])
    if picture is not None:
        click.echo(drift_svg(measured), picture, nl=False)


@bench.command("plan-scale", short_help="Measure plans for up to a thousand simulated workers.")
@numbers("--workers", "Numbers of workers, measured one by one.", "10,100,1000")
@exponents
@number("--stages", "Stages with state of the plan for which a tick is chosen.", 100)
@number(
    "--draws",
    "Number of runs, each with other names of keys and so other bins; medians are printed.",
    9,
)
@pass_reporter
def plan_scale(reporter: Reporter, **flags: Any) -> None:  # noqa: ANN401
    """Level the bins of frequent keys over simulated workers, and measure how long a choice takes.

    "equal_over_mean" and "levelled_over_mean" are the rows of the busiest worker by the mean; no owner map is
    more even than "best_possible", since a bin has one owner.  Objects with "exchanges" are of a job of two
    exchanges with opposite skew: "each" is for the exchange that is less even, "sum" for both together, with
    equal bins, one levelled map for both, and one for each.  The last object has the seconds in which a
    tick is chosen for the greatest number of workers, with the reason.
    """
    from fsql.benchmarks.plan_scale import PlanScale, measure_plans

    print_measurements(reporter, measure_plans(PlanScale(**flags)))


@bench.command(short_help="Compare the fold policies while one split is behind the other.")
@number("--documents", "Number of documents of each split.", 1000)
@numbers(
    "--behind",
    "Numbers of documents by which the second split is behind, measured one by one.",
    "1,10,20,50,100,200,500",
)
@pass_reporter
def policies(reporter: Reporter, documents: int, behind: tuple[int, ...]) -> None:
    """Run the index of two files under both fold policies, while one file is behind the other.

    The last object has the distance from which waiting took less time than processing rows again.
    """
    from fsql.benchmarks.policies import Comparison, compare

    print_measurements(reporter, compare(Comparison(documents, behind)))


@bench.command(short_help="Estimate the throughput of more workers from measured costs.")
@number("--documents", "Number of documents.")
@shards("Number of files of the result.")
@pass_reporter
def scaling(reporter: Reporter, documents: int | None, shards: int | None) -> None:
    """Estimate the throughput of 1, 2, 4 and 8 workers from the cost of each part, each on its own core."""
    from fsql.benchmarks.scaling import scale

    print_measurements(reporter, scale(_benchmark("inverted-index"), documents, shards))


@bench.command(short_help="Measure whether throughput and memory stay the same in long runs.")
@click.argument("load", type=click.Choice(["windows", "keys", "lag", "joins", "ranges"]))
@number("--rows", "Number of rows. Default: as many as the load needs.")
@choice("--policy", ("speculative", "ordered"), "The policy of the folds.")
@pass_reporter
def growth(reporter: Reporter, load: str, rows: int | None, policy: str) -> None:
    """Run a day of windows, 10 million keys, two splits of which one is 10 minutes behind, or joins.

    `joins` joins two aggregates of one input, `ranges` events within a range of time. Prints an object for
    each tenth of the run, and then how the last tenth compares with the first.
    """
    from fsql.benchmarks.growth import LOADS, Growth, grow
    from fsql.compiler.tick_plan import Policy

    print_measurements(reporter, grow(Growth(load, rows or LOADS[load], Policy(policy))))


@bench.command(short_help="Measure the speed of simulated clusters.")
@number("--messages", "Messages with rows in a simulated second.", 200)
@number("--seconds", "Simulated seconds of each query.", 20)
@workers("Number of workers.", default=5)
@pass_reporter
def simulation(reporter: Reporter, messages: int, seconds: int, workers: int) -> None:
    """Run the queries of `fsql sim` in a simulated cluster without faults, a row at a time.

    For each query: how many times as fast as real time it ran, and processor time for each message with rows.
    """
    from fsql.benchmarks.simulation import Pace, simulate

    print_measurements(reporter, simulate(Pace(workers, messages, seconds)))


@bench.command(short_help="Run the queries of Nexmark, and compare with DuckDB.")
@click.option("--queries", metavar="NAMES", help="Queries, such as q0,q5. Default: all that run.")
@number("--events", "Number of persons, auctions and bids together.", 2_000_000)
@pass_reporter
def nexmark(reporter: Reporter, queries: str | None, events: int) -> None:
    """Run the queries of Nexmark on one core, each from Parquet files to the blackhole.

    `ratio` is the processor time of the same as a batch in DuckDB with one thread, divided by that of fsql;
    it is null if the package duckdb is not installed.
    """
    from fsql.benchmarks.nexmark import measure_queries, query_names

    known = query_names()
    names = known if queries is None else queries.split(",")
    for name in names:
        if name not in known:
            raise click.UsageError(
                f'there is no query "{name}"; those that run are {", ".join(known)}'
            )
    print_measurements(reporter, measure_queries(names, events))


for _command in (sharing, correlated, hot_join, profile, spark, start):
    bench.add_command(_command)
