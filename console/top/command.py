"""`fsql top`: its flags."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path  # noqa: TC003 - click reads the annotations
from typing import TYPE_CHECKING, Final

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.console.top.sample import Sample

_WIDEST: Final = 1_000
"""The width of a page that is not for a terminal: none of its tables is divided."""


@click.command(short_help="Watch the jobs.")
@click.argument("name", metavar="[JOB]", required=False)
@cluster_directory
@click.option("--once", is_flag=True, help="Print one page and exit.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Interval between two updates.",
)
@pass_reporter
def top(
    reporter: Reporter, name: str | None, directory: Path | None, *, once: bool, every: float
) -> None:
    """Show all jobs, and one of them in detail: JOB, or the one that is selected.

    The details are its min time and what holds it, the rows that wait, its workers, operators, stateful
    operators, splits and frequent keys, and its last ticks with their reasons.

    On a terminal the page is kept up to date: the arrow keys select a job, p pauses, q ends.  If standard
    output is not a terminal, or with --once, one page is printed.

    With --json, standard output has one object for each update: "jobs" (each as `fsql status --json` has it,
    with "rates": "rows_in" and "rows_out" per second), and of one job its name, "job", its "statistics",
    as `fsql stats --json` has them, and its "ticks".  Updates end with Ctrl-C; with --once, there is one.
    """
    from fsql.console.top.sample import Sampler
    from fsql.deployment.directory import find_directory

    sampler = Sampler(find_directory(directory))
    if reporter.json:
        click.echo(json.dumps(sampler.take(name).fields(), ensure_ascii=False))
        while not once:
            time.sleep(every)
            click.echo(json.dumps(sampler.take(name).fields(), ensure_ascii=False))
    elif once or not sys.stdout.isatty():
        _print_page(sampler.take(name))
    else:
        from fsql.console.top.app import TopApp

        sampler.take(name)  # fails if there is no such job
        TopApp(sampler, name, every).run()


def _print_page(sample: Sample) -> None:
    from rich.console import Console

    from fsql.console.top.page import page

    width = None if sys.stdout.isatty() else _WIDEST
    console = Console(file=sys.stdout, highlight=False, width=width)
    console.print(page(sample), soft_wrap=True)
