"""`fsql tick`: its commands and their flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import WORKERS_MAX, Numbers, check_picture, cluster_directory
from fsql.console.state_of_job import any_state, state_of, wait_seconds

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.group(short_help="Change owners of keys, or the plan, while a job runs.")
def tick() -> None:
    """Propose, list and show ticks of a job.

    A tick changes which workers own which keys, or parts of the plan, while rows flow.  Output does not
    change.  The hashes of keys fall into 4,096 bins, and each bin has one worker.
    """


@tick.command("propose", short_help="Propose another owner map or plan.")
@click.argument("name", metavar="[JOB]", required=False)
@any_state
@cluster_directory
@click.option(
    "--bins",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read the owner map from FILE: lines WORKER FIRST END, for the bins from FIRST on, below END.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, WORKERS_MAX),
    help="Change the number of workers to N: more join, or the last ones leave.",
)
@click.option("--equal", is_flag=True, help="Give each worker the same number of bins.")
@click.option(
    "--to", metavar="WORKER", type=click.IntRange(min=0), help="Give all bins to one worker."
)
@click.option(
    "--readers",
    metavar="WORKERS",
    type=Numbers(),
    help="The worker that reads each split of the input, such as 0,1,1, in the order of `fsql tick show`.",
)
@click.option(
    "--plan",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read policies and the order of filters from FILE; see `fsql tick plan`.",
)
@click.option("--reason", default="", metavar="TEXT", help="Reason, which `fsql tick list` shows.")
@click.option(
    "--wait", is_flag=True, help="Wait for the end of a tick that is under way, and of this one."
)
@wait_seconds("Maximum time to wait with --wait.")
@pass_reporter
def tick_propose(
    reporter: Reporter,
    name: str | None,
    state: Path | None,
    directory: Path | None,
    **flags: object,
) -> None:
    """Propose a tick to the running job JOB, or to the run that has the state directory --state.

    With --workers, each worker gets the same number of bins, unless --bins or --to is given.  With --plan
    or --readers alone, bins keep their owners.  If --workers changes their number, the splits of the input,
    such as files, are spread over them, unless --readers is given.  Each split continues at the row where the
    tick begins.

    Workers have the numbers 0, 1 and so on.  In FILE, the lines cover all bins from 0 to 4096 in order; empty
    lines, and what follows a #, are ignored.  Rows are exchanged before each operator with keys.  A line
    "exchange NAME", with the id of the operator (see `fsql explain --stage tick`), begins the lines of this
    exchange only.  The lines before are for all other exchanges; without these, they keep their owners.

    With --json, standard output has one object: the number "tick"; with --wait, as `fsql tick show --json`.
    """
    from fsql.console.ticks import propose_tick

    given = sum((flags["bins"] is not None, bool(flags["equal"]), flags["to"] is not None))
    changes = any(flags[name] is not None for name in ("workers", "plan", "readers"))
    if given > 1 or not (given or changes):
        message = "give --plan, --readers, --workers, or one of --bins, --equal and --to"
        raise click.UsageError(message)
    propose_tick(reporter, name, state_of(name, state, directory), flags)


@tick.command("plan", short_help="Print the parts of the plan that a tick can change.")
@click.argument("name", metavar="[JOB]", required=False)
@any_state
@cluster_directory
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Output file. Default: standard output.",
)
@pass_reporter
def tick_plan(
    reporter: Reporter,
    name: str | None,
    state: Path | None,
    directory: Path | None,
    output: Path | None,
) -> None:
    """Print the parts of the plan of JOB, or of the state directory --state, that a tick can change.

    The output is one JSON object, to be edited and given to `fsql tick propose --plan`.  "plan" is the digest
    of the logical plan.  "folds" has the "policy" of each fold: "speculative" or "ordered".  "filters" has
    runs of filters that can be reordered, each a list of filters, and each filter a list of conditions.
    Rows go through the filters in order.  A condition may be moved to another filter of its run, or to
    a new one.  "pre_aggregations" has for folds from how many rows of a key in a batch these are
    pre-aggregated, 0 for never, "rebalanced" for tables how many percent of their rows the workers that
    read them send to others, and "lingers" for tables for how many milliseconds these workers wait between
    two small chunks of a split.  What is removed from a list stays as it is.
    """
    from fsql.console.ticks import print_choices

    del reporter
    print_choices(state_of(name, state, directory), output)


@tick.command("list", short_help="List the last ticks.")
@click.argument("name", metavar="[JOB]", required=False)
@any_state
@cluster_directory
@click.option(
    "--picture",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_picture,
    help="Also draw the load of each worker over time, and what each tick changed, as SVG.",
)
@pass_reporter
def tick_list(
    reporter: Reporter,
    name: str | None,
    state: Path | None,
    directory: Path | None,
    picture: Path | None,
) -> None:
    """List the last 100 ticks of JOB, or of the state directory --state, the newest first.

    With --json, standard output has one object: {"ticks": [...]}, each as `fsql tick show --json` has it.

    --picture shows as much as there are statistics of: 60 intervals.
    """
    from fsql.console.ticks import list_ticks

    path = state_of(name, state, directory)
    list_ticks(reporter, path)
    if picture is not None:
        from fsql.console.tick_picture import draw_ticks

        draw_ticks(reporter, name, path, picture)


@tick.command("show", short_help="Show a tick.")
@click.argument("job_and_number", metavar="[JOB] NUMBER", nargs=-1, required=True)
@any_state
@cluster_directory
@pass_reporter
def tick_show(
    reporter: Reporter,
    job_and_number: tuple[str, ...],
    state: Path | None,
    directory: Path | None,
) -> None:
    """Show the tick NUMBER of JOB, or of the state directory --state, with its owner map.

    NUMBER may also precede JOB.

    With --json, standard output has one object: "tick", "state" ("proposed", "taken" or "refused"),
    "reason", "collector" and "age" (of a tick that the job has chosen: who computed the statistics, and
    how many intervals old they were; else null), "proposed_at" (seconds since 1970), "seconds" from when
    the coordinator read the proposal until the tick ended, "position" where it began (time and origin),
    "moved_bins", "refused" (why, or ""), "workers", "owners" (worker, first bin and end of each range;
    empty if they stay), "exchanges" (an object with the owners of exchanges that have others than these,
    by name), "readers" (the worker that reads each split of the input, in the order of the tables and
    splits; empty if they stay), and "changes" (what has changed in the plan, and which splits have
    another reader, a line each).
    """
    from fsql.console.ticks import show_tick

    name, number = _job_and_number(job_and_number)
    show_tick(reporter, state_of(name, state, directory), number)


def _job_and_number(given: tuple[str, ...]) -> tuple[str | None, int]:
    """Return the job, if it is given, and the number of a tick, in either order.

    Raises:
        UsageError: if there is no number, or there are more arguments.
    """
    number, *names = given if given[0].isdecimal() else given[::-1]
    if len(names) > 1 or not number.isdecimal() or int(number) < 1:
        raise click.UsageError(f'give a job and the number of a tick, not "{" ".join(given)}"')
    return (names[0] if names else None), int(number)
