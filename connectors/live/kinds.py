"""Which tables are read while their input comes, by their options: what plans depend on.

This imports none of what reads such tables, so that a run over files at rest does not either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.connectors import FOLLOW
from fsql.connectors.live.options import LOG_SIZE
from fsql.connectors.settings import settings_of

if TYPE_CHECKING:
    from fsql.compiler.logical import Table


def needs_front_log(table: Table) -> bool:
    """Return whether the input of the table cannot be read again."""
    connector = settings_of(table.options).connector
    if connector.live_with:
        return connector.live_with in dict(table.options)
    return connector.option(LOG_SIZE) is not None


def is_followed(table: Table) -> bool:
    """Return whether the table reads files while they grow."""
    return FOLLOW in dict(table.options)


def is_live(table: Table) -> bool:
    """Return whether the rows of the table arrive over time, not as fast as they are read."""
    return needs_front_log(table) or dict(table.options).get("rate") is not None
