"""What is printed before a job runs: the warnings of its script and its input, and where it listens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.job.input_warnings import warnings_of

if TYPE_CHECKING:
    from fsql.console.talk import Talk
    from fsql.job.compiled import Compiled
    from fsql.job.run import Splits


def print_warnings(compiled: Compiled, splits: Splits, talk: Talk) -> None:
    """Print the warnings of `fsql check`, and those that the first rows give."""
    warnings = warnings_of(compiled, splits)
    if warnings and not talk.quiet:
        talk.diagnostics(warnings, compiled.script.source)


def print_listening(compiled: Compiled, talk: Talk) -> None:
    """Print at which addresses the tables of a job listen."""
    for table in compiled.job.tables:
        options = dict(table.options)
        if options["connector"] == "socket":
            address = options["address"]
            fields = {"table": table.name, "address": address}
            talk.inform("listening", fields, f'table "{table.name}" listens on {address}\n')
