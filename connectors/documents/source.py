"""The source of connector `documents`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.generated.generators import LogNormalLengths, generator_split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the one split of the generator."""
    lengths = LogNormalLengths(settings.number("words"))
    return [generator_split(table, settings, lengths, context.clock)]
