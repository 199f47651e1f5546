"""Metadata columns: what a connector knows of each row apart from its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import MetadataColumnEntry
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.binder.type_names import bind_type
from fsql.compiler.connectors import FILE_METADATA, FOLLOW
from fsql.compiler.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.options import TableOptions

_SYNONYMS: Final[Mapping[str, str]] = {"file.name": "file", "offset": "row"}
"""The names of metadata in other systems: those of Flink's files and of Kafka."""
_OF_THE_MACHINE: Final = frozenset(
    {"file.path", "file.size", "file.modification-time", "timestamp"}
)


def metadata_columns(
    table: syntax.CreateTable, options: TableOptions, context: Context
) -> tuple[MetadataColumnEntry, ...]:
    """Return the metadata columns of a table.

    Raises:
        Abandoned: where some were refused.
    """
    found: list[MetadataColumnEntry] = []
    with context.report.whole():
        for index, written in enumerate(table.columns):
            if isinstance(written, syntax.MetadataColumn):
                with context.report.part():
                    found.append(_column(written, index, options, context.zone))
    return tuple(found)


def _column(
    written: syntax.MetadataColumn, index: int, options: TableOptions, zone: str
) -> MetadataColumnEntry:
    """Return a metadata column.

    Raises:
        Refusal: E301, E318.
    """
    if not options.connector.has_metadata:
        of = f"connector '{options.connector.name}'"
        if FOLLOW in options.spans:
            of = "files that are followed"
        raise not_implemented(f"metadata columns of {of}", written.span)
    named = written.name.name if written.key is None else written.key.value
    key = _SYNONYMS.get(named.lower(), named.lower())
    if key not in FILE_METADATA:
        raise refusal(
            "E318",
            f"rows of files have no metadata '{named}'",
            (written.key or written.name).span,
            note=f"they have {names_text(list(FILE_METADATA))}",
            help="it depends on the machine, and not on the input only"
            if key in _OF_THE_MACHINE
            else "write METADATA FROM 'file' or METADATA FROM 'row'",
        )
    type_ = bind_type(written.type, zone)
    if str(type_) != FILE_METADATA[key]:
        raise refusal(
            "E318",
            f"metadata '{key}' is {FILE_METADATA[key]}, not {type_}",
            written.type.span,
            help=f"declare it as {FILE_METADATA[key]}",
        )
    return MetadataColumnEntry(Column(written.name.name, type_, nullable=False), index, key)
