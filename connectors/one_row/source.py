"""The source of connector `one_row`: a single row with 0 in each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fsql.connectors.memory.source import MemorySplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the one split."""
    del settings, context
    row = pa.table({"number": pa.array([0], pa.int64())})
    return [MemorySplit("one_row", row.select([column.name for column in table.columns]))]
