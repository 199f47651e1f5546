"""The settings of a table, by the connector and the format that its options name."""

from __future__ import annotations

from fsql.compiler.connectors import FORMAT, Layout
from fsql.connectors.declared import DECLARED
from fsql.formats.settings import Settings


def settings_of(options: tuple[tuple[str, str], ...]) -> Settings:
    """Return the settings of a table with these options."""
    given = dict(options)
    connector = DECLARED.connector(given["connector"])
    assert connector is not None, f"the compiler let pass the connector {given['connector']}"
    assert FORMAT.default is not None
    return Settings(options, DECLARED.with_format(connector, given.get("format", FORMAT.default)))


def has_layout(settings: Settings, layout: Layout) -> bool:
    """Return whether a table has a format with this layout."""
    if settings.connector.option(FORMAT.key) is None:
        return False
    format_ = DECLARED.format(settings.text(FORMAT.key))
    return format_ is not None and format_.layout is layout


def has_envelope(settings: Settings) -> bool:
    """Return whether the format writes the kind of a change around the row, not as a column."""
    if settings.connector.option(FORMAT.key) is None:
        return False
    format_ = DECLARED.format(settings.text(FORMAT.key))
    return format_ is not None and format_.has_envelope
