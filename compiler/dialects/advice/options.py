"""Connectors, formats and options of other systems, with what to write here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.near_names import near_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

OPTION_KEYS: Final[Mapping[str, str]] = {
    "csv.field-delimiter": "delimiter",
    "csv.quote-character": "quote",
    "csv.escape-character": "escape",
    "csv.null-literal": "null",
    "rows-per-second": "rate",
    "number-of-rows": "count",
}
"""What options that have another name elsewhere are called here."""
_NO_BROKER: Final = (
    "the only broker is 'kafka'; pipe the rows of others through 'stdin' or 'socket'"
)
EVENT_FORMATS: Final = frozenset({"canal-json", "maxwell-json", "ogg-json"})
EVENTS_IN_JSON: Final = (
    "write 'format' = 'json', declare the fields of the events, and apply them with FROM_CHANGELOG"
)
_NO_DATABASE: Final = (
    "the only database is 'postgres'; write the rows of others to files of 'connector' = 'file'"
)
OTHER_CONNECTORS: Final[Mapping[str, str]] = {
    "pulsar": _NO_BROKER,
    "kinesis": _NO_BROKER,
    "rabbitmq": _NO_BROKER,
    "jdbc": _NO_DATABASE,
    "mysql-cdc": _NO_DATABASE,
    "postgres-cdc": "write 'connector' = 'postgres', and 'url' for host, user and database",
    "faker": "write 'connector' = 'datagen'",
}
"""Help for the connectors of other systems."""


def own_key(key: str, keys: Collection[str]) -> str | None:
    """Return the one of `keys` that is meant by a key in the form of another system, such as `csv.header`."""
    own = key.removeprefix("csv.").removeprefix("json.").replace("-", "_")
    if own in keys:
        return own
    near = near_name(key, OPTION_KEYS)
    return OPTION_KEYS[near] if near and OPTION_KEYS[near] in keys else None
