"""`fsql merge`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import define

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command("merge", short_help="Merge the shards of a table into one file.")
@click.argument("script")
@click.option(
    "--table", metavar="NAME", help="Table to merge, if SCRIPT writes several with shards."
)
@click.option(
    "--to", "target", metavar="FILE", required=True, help="Output file; - for standard output."
)
@click.option("--overwrite", is_flag=True, help="Overwrite FILE if it is not empty.")
@define
@pass_reporter
def merge(
    reporter: Reporter,
    script: str,
    table: str | None,
    target: str,
    *,
    overwrite: bool,
    parameters: tuple[tuple[str, str], ...],
) -> None:
    """Merge the shards of a table that SCRIPT writes into one file, in the total order, without positions.

    FILE gets the bytes that the table would have without the option 'shards'. The job must have ended.
    """
    from fsql.connectors.file.output_files import Existing
    from fsql.console.merge import merge_table
    from fsql.console.project.scripts import named_script
    from fsql.job.compilation import compile_job

    compiled = compile_job(named_script(script, dict(parameters)))
    existing = Existing.OVERWRITE if overwrite else Existing.REFUSE
    merge_table(compiled, table, Path(target), existing, reporter)
