"""The source of connector `datagen`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.datagen.fields import FieldOptions, make_column
from fsql.connectors.generated.generators import pace_of
from fsql.connectors.generated.rows import RowSplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split

_SECOND_US = 1_000_000


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the one split of the generator.

    Raises:
        FsqlError: E534, if options name columns that do not exist, or do not fit their types.
    """
    rate = settings.optional_number("rate")
    step_us = _SECOND_US if rate is None else max(1, _SECOND_US // rate)
    given: dict[str, dict[str, str]] = {}
    for key, value in table.options:
        if key.startswith("fields."):
            name, _, option = key.removeprefix("fields.").rpartition(".")
            given.setdefault(name, {})[option] = value
    makers = []
    for column in table.columns:
        options = FieldOptions(column.name, given.pop(column.name.lower(), {}), step_us)
        makers.append(make_column(column, settings.number("seed"), options))
    if given:
        message = f'table "{table.name}" has no column "{min(given)}" that a generator fills'
        names = ", ".join(column.name for column in table.columns)
        raise FsqlError([Diagnostic("E534", message, helps=(f"its columns are {names}",))])

    pace, start = pace_of(settings)
    return [
        RowSplit(
            settings.connector.name,
            lambda numbers: [make(numbers) for make in makers],
            settings.optional_number("count"),
            pace,
            start,
            context.clock,
        )
    ]
