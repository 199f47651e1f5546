"""`fsql query`: asks a running job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory
from fsql.console.interrupt import exit_if_interrupted
from fsql.console.state_of_job import any_state, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.console.reporter import Reporter
    from fsql.job.results.job_results import JobResults


@click.command(short_help="Ask a running job for its results.")
@click.argument("words", metavar="[JOB] [QUERY]", nargs=-1)
@any_state
@cluster_directory
@click.option(
    "--at-least", metavar="POSITION", help="Wait until the results have the position of an answer."
)
@click.option(
    "--changes", metavar="RESULT", help="Follow the changes of a result, instead of QUERY."
)
@click.option("--after", metavar="POSITION", help="With --changes: begin after this position.")
@click.option(
    "--until-current", is_flag=True, help="With --changes: end when all changes are printed."
)
@pass_reporter
def query(  # noqa: PLR0913 - flags, given by click
    reporter: Reporter,
    words: tuple[str, ...],
    state: Path | None,
    directory: Path | None,
    at_least: str | None,
    changes: str | None,
    after: str | None,
    *,
    until_current: bool,
) -> None:
    """Answer one SELECT over the results of the deployed job JOB, or of the run with --state.

    The results of a job are its tables WITH ('connector' = 'results').  The rows of an answer are those of
    one position, for all results; it is on standard error.  Without QUERY, the results are listed.

    With --json, standard output has one object: "position", "columns" (a list of objects with "name" and
    "type") and "rows", a list of objects; without QUERY "position" and "results".

    With --changes, standard output has a line for each piece: an object with "position", "snapshot" and
    "changes", a list of objects with "op" and "row".  --after with the position of the last line that was
    dealt with continues there.
    """
    from fsql.job.results.job_results import JobResults

    needed = 0 if state is not None else 1
    asked = words[needed:]
    if len(words) < needed or len(asked) > 1:
        raise click.UsageError("give JOB and QUERY, or --state DIR and QUERY")
    if changes is None and (after is not None or until_current):
        raise click.UsageError("--after and --until-current require --changes")
    if changes is not None and asked:
        raise click.UsageError("--changes takes no QUERY")
    name = words[0] if needed else None
    results = JobResults(state_of(name, state, directory), name or "")
    try:
        with exit_if_interrupted():
            if changes is not None:
                _print_changes(results, changes, after, until_current=until_current)
            elif asked:
                _print_answer(reporter, results, asked[0], at_least)
            else:
                _print_results(reporter, results)
    finally:
        results.close()


def _print_answer(reporter: Reporter, results: JobResults, text: str, at_least: str | None) -> None:
    from fsql.console.text_table import text_table
    from fsql.job.results.answers import Limits, answer
    from fsql.job.results.plain_values import plain

    found = answer(results, text, Limits(), at_least)
    results.rewrite_if_long()
    rows = [plain(row) for row in found.to_pylist()]
    if reporter.json:
        columns = [{"name": each.name, "type": str(each.type)} for each in found.columns]
        body = {"position": found.position, "columns": columns, "rows": rows}
        click.echo(json.dumps(body, ensure_ascii=False))
        return
    names = [each.name for each in found.columns]
    cells = [[_cell(row[name]) for name in names] for row in rows]
    click.echo(text_table(names, cells), nl=False)
    reporter.inform("position", {"position": found.position}, f"position {found.position}\n")


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _print_results(reporter: Reporter, results: JobResults) -> None:
    from fsql.console.text_table import text_table

    as_of = results.refresh()
    found = []
    for schema in results.tables():
        key = [schema.names[at] for at in results.key_of(schema.table) or ()]
        found.append((schema.table, results.row_count(schema.table), key))
    if reporter.json:
        listed = [{"result": name, "rows": rows, "key": key} for name, rows, key in found]
        click.echo(json.dumps({"position": as_of.position, "results": listed}))
        return
    rows = [(name, f"{count:,}", ", ".join(key)) for name, count, key in found]
    click.echo(text_table(("result", "rows", "key"), rows), nl=False)
    reporter.inform("position", {"position": as_of.position}, f"position {as_of.position}\n")


def _print_changes(
    results: JobResults, result: str, after: str | None, *, until_current: bool
) -> None:
    from fsql.job.results.plain_values import plain
    from fsql.job.results.running_job import RunningJob

    for piece in RunningJob(results).changes(
        result, after=after, seconds=0.0 if until_current else None
    ):
        changes = [{"op": each.op, "row": plain(each.row)} for each in piece.changes]
        body = {"position": piece.position, "snapshot": piece.snapshot, "changes": changes}
        click.echo(json.dumps(body, ensure_ascii=False))
