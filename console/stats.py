"""Statistics as text and as JSON."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.owner_map import BINS
from fsql.compiler.plan_choices import PAIR
from fsql.console.interrupt import Interrupt
from fsql.console.panel import sparkline
from fsql.console.text_table import text_table
from fsql.deployment.statistics_service import StatisticsService, hold_service
from fsql.job.ticks import job_of_state
from fsql.optimizer.collectors.written_results import newest_statistics
from fsql.optimizer.statistics import RESULTS, Statistics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.console.reporter import Reporter
    from fsql.deployment.directory import ClusterDirectory
    from fsql.optimizer.collectors.files import Kept

_PARTITIONS: Final = 16
"""The maximum number of partitions into which Spark shuffles; it joins small ones."""
_GROUPS: Final = 32
"""The number of groups of adjacent bins in the chart."""
_HEAVY: Final = 10
"""The number of heavy keys of each side that are printed."""


def show_statistics(reporter: Reporter, state: Path, master: str | None = None) -> None:
    """Print the statistics of the job in a state directory, computed on Spark if a master is given.

    Raises:
        FsqlError: E614, if it has no job; E621 or E623, if that cannot be read; E644, E661 or E663, if
            Spark cannot be used.
    """
    job_of_state(state)
    statistics = newest_statistics(state) if master is None else _collect_on_spark(state, master)
    if reporter.json:
        click.echo(json.dumps(statistics_fields(statistics), ensure_ascii=False))
    else:
        click.echo(statistics_text(statistics), nl=False)


def _collect_on_spark(state: Path, master: str) -> Statistics:
    from fsql.optimizer.collectors import spark
    from fsql.runtime.drivers.spark.session import spark_session
    from fsql.runtime.drivers.spark.waiting import Waiting

    with (
        Interrupt() as interrupt,
        spark_session(master, _PARTITIONS, interrupt.check) as session,
        Waiting(interrupt.check) as waiting,
    ):
        return waiting.for_result(lambda: spark.SparkCollector(session).collect(state))


def serve_statistics(
    reporter: Reporter, cluster: ClusterDirectory, master: str, *, until_end_of_input: bool
) -> None:
    """Run the statistics service of a cluster directory until a signal, or the end of standard input.

    Raises:
        FsqlError: E632, if the directory cannot be used; E644, E661 or E663, if Spark cannot be used.
    """
    over = threading.Event()
    lock = hold_service(cluster)
    if lock is None:
        reporter.inform("serve", {"served": False}, "a statistics service runs already\n")
        return
    try:
        with _ended_by_signals(over):
            if until_end_of_input:
                threading.Thread(target=_wait_for_end_of_input, args=[over], daemon=True).start()
            _serve_on_spark(reporter, cluster, master, over)
    finally:
        os.close(lock)


def _serve_on_spark(
    reporter: Reporter, cluster: ClusterDirectory, master: str, over: threading.Event
) -> None:
    from fsql.runtime.drivers.spark.session import spark_session
    from fsql.runtime.drivers.spark.waiting import Waiting

    def end_if_over() -> None:
        if over.is_set():
            raise KeyboardInterrupt  # ends Spark, whatever it does

    def log(text: str) -> None:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
        reporter.inform("statistics", {"at": when, "text": text}, f"{when} {text}\n")

    begun = time.monotonic()
    with (
        suppress(KeyboardInterrupt),
        spark_session(master, _PARTITIONS, end_if_over) as session,
        Waiting(end_if_over) as waiting,
    ):
        from fsql.optimizer.collectors import spark

        log(f"Spark serves {cluster.path} after {time.monotonic() - begun:.1f} s")
        collector = waiting.for_result(lambda: spark.SparkCollector(session))
        waiting.for_result(collector.warm)
        log(f"the first collection is prepared after {time.monotonic() - begun:.1f} s")

        def collect(state: Path, kept: Kept) -> Statistics:
            return waiting.for_result(lambda: collector.collect(state, kept))

        StatisticsService(cluster, collect, log).run(over)
    log("the statistics service ends")


@contextmanager
def _ended_by_signals(over: threading.Event) -> Iterator[None]:
    before = [
        (number, signal.signal(number, lambda *_: over.set()))
        for number in (signal.SIGTERM, signal.SIGINT)
    ]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _wait_for_end_of_input(over: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    over.set()


def statistics_fields(statistics: Statistics) -> dict[str, object]:
    """Return all tables as the fields of a JSON object."""
    tables = {
        name: [each if isinstance(each, str) else each._asdict() for each in rows]
        for name, rows in statistics._asdict().items()
    }
    return {"results": RESULTS, **tables}


def statistics_text(statistics: Statistics) -> str:
    """Return the tables as text."""
    problems = [f"warning: {each}\n" for each in statistics.problems]
    if not statistics.workers and not statistics.folds:
        return "".join([*problems, "no statistics yet\n"])
    shown = [text_table(*each) for each in statistics_tables(statistics).values() if each.rows]
    return "".join(problems) + "\n".join(shown)


class TextRows(NamedTuple):
    """A table for display: its titles, and its rows."""

    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


def statistics_tables(statistics: Statistics) -> dict[str, TextRows]:
    """Return the tables for display, by name."""
    costs = ("operator", "rows/s", "busy", "a row", "a call", "rows out/in")
    folds = (
        "fold",
        "policy",
        "recomputed",
        "waited",
        "for",
        "state rows",
        "bytes",
        "changed",
        "rewinds/s",
    )
    pairs = ("filter", "condition", "is true", "behind", "is true then")
    latency = ("table", "chunks/s", "median", "99 %")
    splits = ("table", "split", "rows/s", "lag", "rate by mean", "blocked")
    links = ("worker", "to", "frames/s", "bytes/s", "resent", "busy")
    heavy = ("into", "side", "key", "of all rows", "error")
    return {
        "workers": TextRows(("worker", "busy", "by interval"), list(_workers(statistics))),
        "operators": TextRows(costs, list(_costs(statistics))),
        "folds": TextRows(folds, list(_folds(statistics))),
        "pairs": TextRows(pairs, list(_pairs(statistics))),
        "latency": TextRows(latency, list(_latency(statistics))),
        "splits": TextRows(splits, list(_fronts(statistics))),
        "links": TextRows(links, list(_links(statistics))),
        "loads": TextRows(
            ("into", "side", "rows/s", "busiest bin", "by bin"), list(_loads(statistics))
        ),
        "heavy": TextRows(heavy, list(_heavy(statistics))),
    }


def _workers(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    by_worker = sorted(statistics.workers, key=lambda each: (each.worker, each.interval))
    for worker, loads in groupby(by_worker, key=lambda each: each.worker):
        busy = [each.busy for each in loads]
        yield str(worker), f"{busy[-1]:.0%}", sparkline(busy)


def _costs(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for each in sorted(statistics.costs, key=lambda cost: (-cost.busy, cost.operator)):
        if PAIR in each.operator:
            continue  # has a table of its own
        selectivity = "" if each.selectivity is None else f"{each.selectivity:.3g}"
        row, call = short_time(each.seconds_per_row), short_time(each.seconds_per_call)
        rows = count_text(round(each.rows_per_second))
        yield each.operator, rows, f"{each.busy:.1%}", row, call, selectivity


def short_time(seconds: float | None) -> str:
    """Return a time below some milliseconds as text; nothing if it is not known."""
    if seconds is None:
        return "no estimate"
    if seconds < 1e-6:
        return f"{seconds * 1e9:.0f} ns"
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def _folds(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for each in statistics.folds:
        sizes = (each.state_rows, each.state_bytes, each.changed_keys)
        yield (
            each.operator,
            each.policy,
            _part(each.redone),
            _part(each.held),
            "" if each.wait_seconds is None else short_time(each.wait_seconds),
            *map(count_text, sizes),
            f"{each.rewinds_per_second:.3g}",
        )


def _part(part: float | None) -> str:
    return "no estimate" if part is None else f"{part:.1%}"


def _pairs(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for each in statistics.pairs:
        second, first = f"#{each.second}", f"#{each.first}"
        yield each.filter, second, _part(each.selectivity), first, _part(each.given_first)


def _latency(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for each in statistics.latency:
        chunks = f"{each.chunks_per_second:.3g}"
        yield each.table, chunks, short_time(each.median), short_time(each.p99)


def _fronts(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for each in statistics.fronts:
        rows = count_text(round(each.rows_per_second))
        lag = f"{each.lag_seconds:.3g} s"
        skew = "no estimate" if each.skew is None else f"{each.skew:.2f}"
        yield each.table, str(each.split), rows, lag, skew, _part(each.blocked)


def _links(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for each in statistics.links:
        peer = "coordinator" if each.peer < 0 else str(each.peer)
        rates = f"{each.frames_per_second:.3g}", count_text(round(each.bytes_per_second))
        yield str(each.worker), peer, *rates, _part(each.resent), f"{each.busy:.2%}"


def _loads(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for (operator, side), loads in groupby(statistics.loads, key=lambda each: each[:2]):
        groups, busiest = [0.0] * _GROUPS, 0.0
        for each in loads:
            groups[each.bin * _GROUPS // BINS] += each.rows_per_second
            busiest = max(busiest, each.rows_per_second)
        total = sum(groups)
        share = f"{busiest / total:.1%}" if total else ""
        yield operator, str(side), count_text(round(total)), share, sparkline(groups)


def _heavy(statistics: Statistics) -> Iterator[tuple[str, ...]]:
    for (operator, side), keys in groupby(statistics.heavy, key=lambda each: each[:2]):
        heaviest = sorted(keys, key=lambda each: (-each.share, each.key))[:_HEAVY]
        for each in heaviest:
            yield operator, str(side), each.key, f"{each.share:.1%}", f"{each.error:.1%}"
