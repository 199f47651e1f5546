"""`fsql merge`: merges the shards of a table that a script writes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from fsql.compiler.diagnostics.numbers import counted_text
from fsql.connectors import paths
from fsql.connectors.file.output_files import check_existing, locked_output
from fsql.job.explain_stage import check_output
from fsql.job.shard_merge import merge_shards, shard_paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.compiler.logical import Insert
    from fsql.connectors.file.output_files import Existing
    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled


def merge_table(
    compiled: Compiled, table: str | None, target: Path, existing: Existing, reporter: Reporter
) -> None:
    """Write the rows of all shards of a table to `target`, or to standard output if it is `-`.

    Raises:
        click.UsageError: if the script writes no such table, or several and none is named.
        FsqlError: E531 or E544, if a shard cannot be read; E532, E535, E540 or E541, if the target cannot
            be written.
    """
    insert = _insert_of(compiled, table)
    files = shard_paths(insert, compiled.script.base_directory)
    for path in files:
        if not path.is_file():
            raise paths.open_error(
                "E531", path, "it does not exist", *paths.similar_name_help(path)
            )
    if str(target) != "-":
        check_output(compiled, str(target))
    with _open_target(target, existing) as file:
        try:
            merged = merge_shards(insert, files, file)
            file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise paths.io_error("writing", target, error) from None
    text = (
        f"merged {counted_text(merged.rows, 'row')}, {counted_text(merged.bytes, 'byte')},"
        f" of {counted_text(len(files), 'shard')}\n"
    )
    fields = {"rows": merged.rows, "bytes": merged.bytes, "shards": len(files)}
    reporter.inform("merged", fields, text)


def _insert_of(compiled: Compiled, table: str | None) -> Insert:
    sharded = [each for each in compiled.job.inserts if each.sink.shards is not None]
    names = [each.sink.name for each in sharded]
    if table is None and len(sharded) == 1:
        return sharded[0]
    found = [each for each in sharded if each.sink.name == table]
    if found:
        return found[0]
    if not names:
        raise click.UsageError("the script writes no table with the option 'shards'")
    named = "name one with --table" if table is None else f'"{table}" is not one of them'
    raise click.UsageError(f"the tables with shards are {', '.join(names)}: {named}")


@contextmanager
def _open_target(target: Path, existing: Existing) -> Iterator[BinaryIO]:
    """Open the target, and truncate it."""
    if str(target) == "-":
        yield sys.stdout.buffer
        return
    with locked_output(target):
        check_existing(target, existing)
        try:
            file = target.open("wb")
        except OSError as error:
            raise paths.open_error("E532", target, error) from None
        with file:
            yield file
