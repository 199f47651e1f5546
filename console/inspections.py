"""The output of SHOW, DESCRIBE and EXPLAIN: a table, or JSON lines if rows are JSON lines."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from fsql.console.standard_output import shows_tables
from fsql.console.text_table import text_table

if TYPE_CHECKING:
    from fsql.compiler.inspections import Listing
    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions


def print_inspections(
    compiled: Compiled, options: RunOptions, form: str | None, reporter: Reporter
) -> bool:
    """Print the inspections of a script to standard output; return whether there is also a job to run.

    `form` is that of a bare SELECT.  If there is no job, the warnings about the script are printed as well.
    """
    runs = bool(compiled.job.inserts)
    if compiled.warnings and not runs and not reporter.quiet:
        reporter.diagnostics(compiled.warnings, compiled.script.source)
    if not compiled.inspections or sys.stdout is None:
        return runs
    from fsql.job.inspections import listings  # few scripts have inspections

    as_text = listing_text if shows_tables(form, reporter) else listing_json
    for listing in listings(compiled, options):
        sys.stdout.buffer.write(as_text(listing).encode())
    sys.stdout.buffer.flush()
    return runs


def listing_text(listing: Listing) -> str:
    """Return a list as a table and an empty line; a single text unchanged."""
    if len(listing.columns) == 1 and any("\n" in (row[0] or "") for row in listing.rows):
        return "".join(f"{(row[0] or '').rstrip()}\n\n" for row in listing.rows)
    return (
        text_table(listing.columns, [[cell or "" for cell in row] for row in listing.rows]) + "\n"
    )


def listing_json(listing: Listing) -> str:
    """Return a list as JSON, with an object for each row."""
    rows = (dict(zip(listing.columns, row, strict=True)) for row in listing.rows)
    return "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )
