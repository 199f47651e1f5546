"""Metadata columns: what a connector knows of each row apart from its record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import MetadataColumnEntry
from fsql.compiler.binder.ddl.watermark import mark_event_time
from fsql.compiler.binder.expressions.type_names import bind_type
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.connectors import FILE_METADATA, FOLLOW, MESSAGE_METADATA, METADATA
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.ddl.options import TableOptions
    from fsql.compiler.text.source import Span

_SYNONYMS: Final[Mapping[str, str]] = {"file.name": "file", "offset": "row"}
"""The names of metadata in other systems: those of files and of messages."""
_OF_THE_MACHINE: Final = frozenset(
    {"file.path", "file.size", "file.modification-time", "timestamp"}
)

_OF_MESSAGES: Final[Mapping[str, str]] = {
    "rowpartition": "partition",
    "rowoffset": "offset",
    "rowtime": "timestamp",
    "timestamp_type": "timestamp-type",
    "leader_epoch": "leader-epoch",
}
"""Other names of the metadata of messages: those of columns without FROM, too."""
_MAY_BE_NULL: Final = frozenset({"key", "leader-epoch", "timestamp"})
"""The metadata that a message need not have."""
_WRITABLE: Final = ("timestamp", "headers")


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
    if options.connector.has_message_metadata:
        return _of_message(written, index, options, zone)
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
    column = Column(written.name.name, type_, nullable=False)
    return MetadataColumnEntry(column, index, key, written.virtual)


def _of_message(
    written: syntax.MetadataColumn, index: int, options: TableOptions, zone: str
) -> MetadataColumnEntry:
    """Return a column with metadata of messages.

    Raises:
        Refusal: E301, E318.
    """
    if options.format is not None and options.format.has_envelope:
        raise not_implemented(
            f"metadata columns of format '{options.format.name}'",
            written.span,
            help="remove the column; the change events have the time of the change",
        )
    named = written.name.name if written.key is None else written.key.value
    key = _OF_MESSAGES.get(named.lower(), named.lower())
    if key not in MESSAGE_METADATA:
        near = near_name(key, tuple(MESSAGE_METADATA))
        raise refusal(
            "E318",
            f"messages have no metadata '{named}'",
            (written.key or written.name).span,
            note=f"they have {names_text(list(MESSAGE_METADATA))}",
            help=_message_help(key, near),
        )
    type_, types = bind_type(written.type, zone), MESSAGE_METADATA[key]
    if str(type_).partition("(")[0] not in types:
        raise refusal(
            "E318",
            f"metadata '{key}' is {' or '.join(types)}, not {type_}",
            written.type.span,
            help=f"declare it as {types[0]}, and cast it in a computed column",
        )
    if type_.kind is Kind.TIMESTAMP and not type_.zone and zone != "UTC":
        raise refusal(
            "E318",
            f"metadata '{key}' is an instant, and {type_} has no time zone",
            written.type.span,
            note=f"the time zone of the script is {zone}",
            help=f"declare it as {types[0]}",
        )
    column = Column(written.name.name, type_, nullable=key in _MAY_BE_NULL)
    return MetadataColumnEntry(column, index, key, written.virtual)


def _message_help(key: str, near: str | None) -> str:
    if key in {"value", "payload"}:
        return "declare the columns of the value; a text is the column of format 'text'"
    if key.startswith("value."):
        return "formats have no metadata here; 'format' = 'debezium-json' applies changes"
    return f"write METADATA FROM '{near or 'timestamp'}'"


def mark_metadata_time(
    watermark: syntax.Watermark, metadata: tuple[MetadataColumnEntry, ...]
) -> tuple[MetadataColumnEntry, ...]:
    """Return metadata columns, with event time marked if it is one of them.

    Raises:
        Refusal: E313, if the column is not a TIMESTAMP.
    """
    marked = mark_event_time(watermark, tuple(each.column for each in metadata))
    return tuple(
        replace(each, column=column) for each, column in zip(metadata, marked, strict=True)
    )


def with_written_metadata(entry: TableEntry, span: Span) -> TableEntry:
    """Return a table that is written, with its writable metadata columns as columns.

    Raises:
        Refusal: E217, for metadata that only a broker determines.
    """
    written = [each for each in entry.metadata if not each.virtual]
    if not entry.connector.has_message_metadata or not written:
        return entry
    for each in written:
        if each.key not in _WRITABLE:
            raise refusal(
                "E217",
                f"column \"{each.column.name}\" cannot be written: metadata '{each.key}' is only read",
                span,
                secondary=(Label(entry.span, f'"{entry.name}" is declared here'),),
                note=f"metadata that is written: {names_text(_WRITABLE)}",
                help="add VIRTUAL after the METADATA clause: the column is read, and not written",
            )
        if each.key in [other.key for other in written if other is not each]:
            raise refusal(
                "E205",
                f"metadata '{each.key}' is written from more than one column",
                span,
                secondary=(Label(entry.span, f'"{entry.name}" is declared here'),),
                help="add VIRTUAL to all of them but one",
            )
    assert entry.declaration is not None
    places = [each.name.name for each in entry.declaration.columns]
    columns = sorted(
        (*entry.columns, *(each.column for each in written)),
        key=lambda column: places.index(column.name),
    )
    key = entry.primary_key
    names = [column.name for column in columns]
    pairs = ";".join(f"{each.key}={each.column.name}" for each in written)
    return replace(
        entry,
        columns=tuple(columns),
        options=(*entry.options, (METADATA, pairs)),
        primary_key=None if key is None else tuple(names.index(entry.columns[i].name) for i in key),
    )
