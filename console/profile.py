"""`fsql stats profile`: from the script to the profile of its input, as tables and as a file."""

from __future__ import annotations

import sys
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.owner_map import BINS
from fsql.console.interrupt import Interrupt
from fsql.console.panel import sparkline
from fsql.console.stats import TextRows, short_time
from fsql.console.text_table import text_table
from fsql.job.compilation import compile_job
from fsql.job.explain_stage import check_output
from fsql.job.profile import SparkTables, profile_input, tables_not_at_rest
from fsql.job.sources import open_splits
from fsql.optimizer.collectors.profile_file import profile_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.script import Script
    from fsql.optimizer.profile import Profile

NO_TABLES: Final[Mapping[str, str]] = MappingProxyType({})
_PARTITIONS: Final = 16
_GROUPS: Final = 32
"""The number of groups of adjacent bins in the chart."""
_HEAVY: Final = 10
"""The number of heavy keys of each side that are printed."""


def show_profile(
    script: Script,
    output: Path | None,
    master: str | None,
    reporter: Reporter,
    instead: Mapping[str, str] = NO_TABLES,
) -> None:
    """Profile the input of a script, on Spark if a master is given; print it, or write it to a file.

    `instead` has tables that Spark knows, by the names of those of the script that they replace.

    Raises:
        click.UsageError: if the script does not read one of these tables.
        FsqlError: if the script does not compile or its input cannot be read; E532, if the file cannot be
            written; E644, E661 or E663, if Spark cannot be used.
    """
    compiled = compile_job(script)
    if output is not None:
        check_output(compiled, str(output))
    for name in instead:
        if name not in {table.name for table in compiled.job.tables}:
            raise click.UsageError(f'--table: the script reads no table "{name}"')
    for name in tables_not_at_rest(compiled, open_splits(compiled)):
        if name in instead:
            continue
        text = f'warning: table "{name}" is skipped: it is not at rest\n'
        reporter.inform("tables_not_at_rest", {"table": name}, text)
    profile = profile_input(compiled) if master is None else _on_spark(compiled, master, instead)
    content = profile_bytes(profile)
    if output is not None:
        _write(output, content)
        text = f"profile of {script.source.name} in {output}: {_summary(profile)}\n"
        reporter.inform("profiled", {"output": str(output)}, text)
    elif reporter.json:
        sys.stdout.buffer.write(content)
    else:
        click.echo(profile_text(profile), nl=False)


def _on_spark(compiled: Compiled, master: str, instead: Mapping[str, str]) -> Profile:
    from fsql.runtime.drivers.spark.session import spark_session
    from fsql.runtime.drivers.spark.waiting import Waiting

    with (
        Interrupt() as interrupt,
        spark_session(master, _PARTITIONS, interrupt.check) as session,
        Waiting(interrupt.check) as waiting,
    ):
        from fsql.optimizer.collectors.profile_spark import collect_counts, collect_table_counts

        tables = SparkTables(instead, partial(collect_table_counts, session))
        collect = partial(collect_counts, session)
        return waiting.for_result(lambda: profile_input(compiled, collect, tables))


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Raises:
        FsqlError: E532.
    """
    draft = path.with_name(f".{path.name}.partial")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        message = f'"{path}" cannot be written: {error.strerror}'
        raise FsqlError([Diagnostic("E532", message)]) from None


def _summary(profile: Profile) -> str:
    rows = sum(each.rows for each in profile.splits)
    splits = len(profile.splits)
    return f"{count_text(rows)} rows of {count_text(splits)} {'split' if splits == 1 else 'splits'}"


def profile_text(profile: Profile) -> str:
    """Return the tables as text."""
    shown = [text_table(*each) for each in _tables(profile) if each.rows]
    return "\n".join(shown) if shown else "no input at rest\n"


def _tables(profile: Profile) -> Iterator[TextRows]:
    yield TextRows(
        ("table", "split", "rows", "bytes"),
        [
            (each.table, str(each.split), count_text(each.rows), count_text(each.bytes))
            for each in profile.splits
        ],
    )
    yield TextRows(
        ("operator", "rows in", "rows out/in", "a row"),
        [
            (
                *(each.operator, count_text(each.rows_in)),
                f"{each.rows_out / each.rows_in:.3g}",
                short_time(each.busy_seconds / each.rows_in),
            )
            for each in profile.operators
        ],
    )
    yield TextRows(("into", "side", "rows", "keys", "by bin"), list(_sides(profile)))
    yield TextRows(("into", "side", "key", "of all rows", "error"), list(_heavy(profile)))


def _sides(profile: Profile) -> Iterator[tuple[str, ...]]:
    for side in profile.sides:
        groups = [0.0] * _GROUPS
        for each in profile.bins:
            if each[:2] == side[:2]:
                groups[each.bin * _GROUPS // BINS] += each.rows
        keys = f"about {count_text(side.keys)}"
        yield side.operator, str(side.side), count_text(side.rows), keys, sparkline(groups)


def _heavy(profile: Profile) -> Iterator[tuple[str, ...]]:
    for side in profile.sides:
        own = [each for each in profile.heavy if each[:2] == side[:2]]
        for each in sorted(own, key=lambda key: (-key.rows, key.key))[:_HEAVY]:
            share, error = each.rows / side.rows, each.error / side.rows
            yield side.operator, str(side.side), each.key, f"{share:.1%}", f"{error:.1%}"
