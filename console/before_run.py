"""Messages before a job runs: warnings about script and input, and the addresses on which it listens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.console.reporter import print_message
from fsql.job.input_warnings import warnings_of

if TYPE_CHECKING:
    from collections import deque
    from pathlib import Path

    from fsql.console.progress import Progress
    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions
    from fsql.job.sources import Splits


def print_warnings(compiled: Compiled, splits: Splits, reporter: Reporter) -> None:
    """Print the warnings of `fsql check` and those about the first rows of the input."""
    warnings = warnings_of(compiled, splits)
    if warnings and not reporter.quiet:
        reporter.diagnostics(warnings, compiled.script.source)


def print_profile_problem(options: RunOptions, reporter: Reporter) -> None:
    """Print why the given profile is ignored, if it is."""
    problem = None if options.profile is None else options.profile.problem
    if problem is not None:
        reporter.inform("profile", {"problem": str(problem)}, f"warning: {problem}\n")


def print_listening(compiled: Compiled, reporter: Reporter) -> None:
    """Print the addresses on which the tables of a job listen."""
    for table in compiled.job.tables:
        options = dict(table.options)
        if options["connector"] == "socket":
            address = options["address"]
            fields = {"table": table.name, "address": address}
            reporter.inform("listening", fields, f'table "{table.name}" listens on {address}\n')


def print_input_notes(
    notes: deque[str], reporter: Reporter, progress: Progress | None = None
) -> None:
    """Print the notices of live input; with `progress`, where they do not disturb the display."""
    while notes:
        note = notes.popleft()
        if progress is None or reporter.quiet or reporter.json:
            reporter.inform("input", {"note": note}, f"note: {note}\n")
        else:
            progress.print_line(f"note: {note}")


def print_join_command(
    count: int, address: str, key: Path, keys: Path | None, reporter: Reporter
) -> None:
    """Print the command that starts a worker, and the number of workers for which the run waits."""
    if reporter.json:
        fields = {"workers": count, "address": address, "key": str(key)}
        if keys is not None:
            fields["keys"] = str(keys)
        reporter.event("waiting", fields)
        return
    workers = "1 worker" if count == 1 else f"{count} workers, each by"
    curve = "" if keys is None else f" --keys {keys}"
    print_message(f"waiting for {workers}: fsql worker --join {address} --key {key}{curve}\n")
