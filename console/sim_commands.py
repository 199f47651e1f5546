"""`fsql sim`: its commands and their flags."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console import exit_codes
from fsql.console.commands import pass_reporter
from fsql.console.flags import define, delivery, workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.console.reporter import Reporter
    from fsql.job.script import Script
    from fsql.runtime.simulation.run import Plan


class _Seeds(click.ParamType[range]):
    """`17`, or `A..B`: from A, inclusive, to B, exclusive."""

    name = "seeds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        """Return the seeds."""
        if isinstance(value, range):
            return value
        first, dots, end = str(value).partition("..")
        try:
            seeds = range(int(first), int(end) if dots else int(first) + 1)
        except ValueError:
            self.fail(f'"{value}" is neither a seed nor of the form A..B', param, ctx)
        if not seeds:
            self.fail(f'there is no seed in "{value}"', param, ctx)
        return seeds


_script = click.argument("script", required=False)
_seconds = click.option(
    "--seconds",
    type=click.IntRange(2, 3600),
    default=60,
    show_default=True,
    help="Simulated seconds during which faults are injected.",
)
_workers = workers("Number of workers. Default: chosen by the seed.", default=None)
_delivery = delivery("Delivery guarantee of outputs. Default: chosen by the seed.")


@click.group(short_help="Simulate clusters in virtual time, with faults.")
def sim() -> None:
    """Simulate whole clusters in virtual time: nodes, network, disks, sinks and their faults.

    The output of each cluster is compared with that of one worker without faults.  The seed determines
    everything, so a run can be repeated.  The exit code is 70 if a seed finds an error of fsql, or if a soak
    has not reached every fault and state that it must reach.
    """


@sim.command("run", short_help="Run seeds, each twice, and compare.")
@_script
@click.option(
    "--seeds",
    type=_Seeds(),
    default="0..20",
    show_default=True,
    metavar="A..B",
    help="Seeds from A, inclusive, to B, exclusive.",
)
@_seconds
@_workers
@_delivery
@click.option(
    "--once", is_flag=True, help="Run each seed once, without checking that it is reproducible."
)
@click.option(
    "--soak",
    is_flag=True,
    help="Show how often each fault occurred at each step; fail if one never did.",
)
@define
@pass_reporter
def sim_run(  # noqa: PLR0913 - one an option
    reporter: Reporter,
    script: str | None,
    seeds: range,
    seconds: int,
    workers: int | None,
    *,
    delivery: str | None,
    once: bool,
    soak: bool,
    parameters: tuple[tuple[str, str], ...],
) -> None:
    """Run SCRIPT, or built-in queries, twice for each seed, and check that both runs are equal.

    The first 2,000 rows of the script's files are read.  No output is written.  Progress is printed every
    ten seconds.  Ctrl-C ends the command after the current seed and prints the results so far.
    """
    from fsql.console.sim import run_seeds, series_json, series_text, soak_text
    from fsql.console.sim_progress import SeedLines

    plan = _plan(seconds, workers, delivery)
    lines = SeedLines(len(seeds), reporter)
    the_script = _read(reporter, script, parameters)
    series = run_seeds(the_script, seeds, plan, twice=not once, on_seed=lines.seed_done)
    if reporter.json:
        click.echo(series_json(series), nl=False)
    elif not reporter.quiet or not series.clean:
        flags = _flags(script, seconds, workers, delivery, parameters)
        click.echo(soak_text(series) if soak else "", nl=False)
        click.echo(series_text(series, flags), nl=False)
    if series.interrupted and series.clean:
        click.get_current_context().exit(series.interrupted)
    if not series.clean or (soak and series.not_met):
        click.get_current_context().exit(exit_codes.INTERNAL)


@sim.command("replay", short_help="Run a seed again and show its last events.")
@_script
@click.option("--seed", type=click.IntRange(0), required=True, help="The seed.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the choices of a run: replayed if it exists, otherwise recorded.",
)
@click.option("--shrink", is_flag=True, help="Minimize the faults of a seed that fails.")
@click.option("--mermaid", is_flag=True, help="Draw a Mermaid sequence diagram.")
@_seconds
@_workers
@_delivery
@define
@pass_reporter
def sim_replay(  # noqa: PLR0913 - one an option
    reporter: Reporter,
    script: str | None,
    seed: int,
    trace: Path | None,
    seconds: int,
    workers: int | None,
    *,
    delivery: str | None,
    shrink: bool,
    mermaid: bool,
    parameters: tuple[tuple[str, str], ...],
) -> None:
    """Run a seed again, and show its last events and its failure."""
    from fsql.console.sim import Replay, replay_seed

    replay = Replay(seed, trace, shrink=shrink, mermaid=mermaid)
    the_script = _read(reporter, script, parameters)
    result, text = replay_seed(the_script, replay, _plan(seconds, workers, delivery))
    if not reporter.quiet or result.failure:
        click.echo(text, nl=False)
    if result.failure:
        click.get_current_context().exit(exit_codes.INTERNAL)


def _read(
    reporter: Reporter, name: str | None, parameters: Sequence[tuple[str, str]]
) -> Script | None:
    from fsql.console.project.scripts import named_script
    from fsql.console.unused_parameters import warn_unused_parameters

    if name is None:
        if parameters:
            raise click.UsageError("-D requires a script")
        return None
    script = named_script(name, dict(parameters))
    warn_unused_parameters([script], reporter)
    return script


def _flags(
    script: str | None,
    seconds: int,
    workers: int | None,
    delivery: str | None,
    parameters: Sequence[tuple[str, str]],
) -> str:
    """Return the flags that a replay of the same run needs."""
    flags = f" --seconds {seconds}"
    flags += "" if workers is None else f" --workers {workers}"
    flags += "" if delivery is None else f" --delivery {delivery}"
    flags += "".join(f" -D {shlex.quote(f'{name}={value}')}" for name, value in parameters)
    return flags + ("" if script is None else f" {shlex.quote(script)}")


def _plan(seconds: int, workers: int | None, delivery: str | None) -> Plan:
    from fsql.runtime.cluster.delivery.option import DeliveryOption
    from fsql.runtime.simulation.run import Plan

    option = None if delivery is None else DeliveryOption(delivery)
    return Plan(seconds=seconds, workers=workers, option=option)
