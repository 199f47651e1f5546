"""The options of a table that change its rows; others can change while a job keeps its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.connectors import ON_ERROR, OVERWRITE, STOP, Effect
from fsql.connectors.settings import settings_of

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable, Table

_TIME = "TIMESTAMP"


def row_options(table: Table | SinkTable) -> tuple[tuple[str, str], ...]:
    """Return the options that change which rows a table has, or what is written; see `Effect`."""
    connector = settings_of(table.options).connector
    kept = []
    for key, value in table.options:
        option = connector.option(key)
        effect = Effect.ROWS if option is None else option.effect
        if key == OVERWRITE:
            continue
        if effect is Effect.PRESENCE:
            kept.append((key, ""))
        elif _changes_rows(effect, table):
            kept.append((key, value))
    return tuple(kept)


def _changes_rows(effect: Effect, table: Table | SinkTable) -> bool:
    match effect:
        case Effect.TIMES:
            return _has_times_without_step(table)
        case Effect.STOPS:
            return dict(table.options).get(ON_ERROR, STOP) != STOP
        case _:
            return effect is Effect.ROWS


def _has_times_without_step(table: Table | SinkTable) -> bool:
    given = dict(table.options)
    return any(
        _TIME in str(column.type) and f"fields.{column.name.lower()}.step" not in given
        for column in table.columns
    )
