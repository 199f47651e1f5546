"""The sources of a job: opens them, or only checks that they can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import SPLITS_MAX
from fsql.compiler.rules.prune_columns.demand import columns_read
from fsql.connectors.context import ConnectorContext, ignore_notice
from fsql.connectors.opening import count_splits, open_source
from fsql.job.option_spans import locate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table
    from fsql.job.compilation import Compiled
    from fsql.runtime.ports import Split

    Splits = Mapping[int, Sequence[Split]]


def open_splits(
    compiled: Compiled,
    front_logs: Path | None = None,
    on_notice: Callable[[str], None] = ignore_notice,
) -> Splits:
    """Return the splits of each table that the job reads, by its ordinal.

    Sources that cannot be read again are read through their front logs, if `front_logs` is given.
    `on_notice` is called with notices for the user, in the threads that read live input.

    Raises:
        FsqlError: E318, E531 to E534, if a source cannot be opened; E539, if it has too many splits.
    """
    context = source_surroundings(compiled, front_logs, on_notice)
    splits = {}
    for table in _readable_tables(compiled):
        with locate_errors(compiled.syntax, table.name, "path"):
            splits[table.ordinal] = open_source(table, context)
            _check_count(table, len(splits[table.ordinal]))
    return splits


def check_sources(compiled: Compiled) -> None:
    """Check that the sources of a job can be opened; those of which that needs no decoder are not.

    Raises:
        FsqlError: the errors of `open_splits`.
    """
    context = source_surroundings(compiled)
    for table in _readable_tables(compiled):
        with locate_errors(compiled.syntax, table.name, "path"):
            _check_count(table, count_splits(table, context))


def _readable_tables(compiled: Compiled) -> Iterator[Table]:
    for table in compiled.job.tables:
        with locate_errors(compiled.syntax, table.name, "connector"):
            _check_standard_input(compiled, table)
        yield table


def source_surroundings(
    compiled: Compiled,
    front_logs: Path | None = None,
    on_notice: Callable[[str], None] = ignore_notice,
) -> ConnectorContext:
    """Return the context in which the sources of a job are opened."""
    memory = compiled.script.memory
    return ConnectorContext(
        compiled.script.base_directory,
        front_logs=front_logs,
        memory={} if memory is None else memory.tables,
        columns_read=columns_read(compiled.bound),
        on_notice=on_notice,
    )


def _check_count(table: Table, splits: int) -> None:
    """Check that the splits of a table can be numbered.

    Raises:
        FsqlError: E539.
    """
    if splits > SPLITS_MAX:
        message = f'table "{table.name}" has {splits:,} splits; the limit is {SPLITS_MAX:,}'
        helps = ("merge files, or declare several tables",)
        raise FsqlError([Diagnostic("E539", message, helps=helps)])


def _check_standard_input(compiled: Compiled, table: Table) -> None:
    """Check that standard input is not both the script and a table.

    Raises:
        FsqlError: E531, if it is.
    """
    if compiled.script.used_stdin and dict(table.options)["connector"] == "stdin":
        message = "standard input cannot be read: the script was read from it"
        helps = ("put the script in a file, or use -e",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)])
