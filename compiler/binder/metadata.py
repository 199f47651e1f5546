"""Metadata columns: what a connector knows of each row apart from its record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import MetadataColumnEntry
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.binder.type_names import bind_type
from fsql.compiler.binder.watermark import mark_event_time
from fsql.compiler.connectors import FOLLOW
from fsql.compiler.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.options import TableOptions
    from fsql.compiler.schema import Schema

_SYNONYMS: Final[Mapping[str, str]] = {"file.name": "file", "offset": "row"}
"""The names of metadata in other systems: those of Flink's files and of Kafka."""
_OF_THE_MACHINE: Final = frozenset(
    {"file.path", "file.size", "file.modification-time", "timestamp"}
)
_MAY_BE_NULL: Final = frozenset({"key", "timestamp"})
"""The metadata that a message need not have."""


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


def with_event_time(
    watermark: syntax.Watermark | None,
    columns: Schema,
    metadata: tuple[MetadataColumnEntry, ...],
    options: TableOptions,
) -> tuple[Schema, tuple[MetadataColumnEntry, ...], Schema]:
    """Return the columns of records and the metadata columns, with event time marked if there is any.

    The third value has all columns that may be event time: metadata of messages is in their records.

    Raises:
        Refusal: E313, if the column is not a TIMESTAMP.
    """
    in_records = metadata if options.connector.rows_are_messages else ()
    timed = (*columns, *(each.column for each in in_records))
    if watermark is not None:
        timed = mark_event_time(watermark, timed)
    marked = [
        replace(each, column=column)
        for each, column in zip(in_records, timed[len(columns) :], strict=True)
    ]
    return timed[: len(columns)], tuple(marked) or metadata, timed


def _column(
    written: syntax.MetadataColumn, index: int, options: TableOptions, zone: str
) -> MetadataColumnEntry:
    """Return a metadata column.

    Raises:
        Refusal: E301, E318.
    """
    connector, known = options.connector, options.connector.metadata
    of_messages = connector.rows_are_messages
    format_ = "" if options.format is None else options.format.name
    if not known or (of_messages and format_ != "json"):
        of = f"format '{format_}'" if known else f"connector '{connector.name}'"
        if FOLLOW in options.spans:
            of = "files that are followed"
        raise not_implemented(f"metadata columns of {of}", written.span)
    named = written.name.name if written.key is None else written.key.value
    key = named.lower() if of_messages else _SYNONYMS.get(named.lower(), named.lower())
    if key not in known:
        of_the_machine = not of_messages and key in _OF_THE_MACHINE
        forms = "METADATA FROM 'file' or METADATA FROM 'row'"
        if of_messages:
            forms = "one of these names, such as METADATA FROM 'timestamp'"
        raise refusal(
            "E318",
            f"rows of {'messages' if of_messages else 'files'} have no metadata '{named}'",
            (written.key or written.name).span,
            note=f"they have {names_text(list(known))}",
            help="it depends on the machine, and not on the input only"
            if of_the_machine
            else f"write {forms}",
        )
    type_ = bind_type(written.type, zone)
    if str(type_).partition("(")[0] not in known[key]:
        types = " or ".join(known[key])
        raise refusal(
            "E318",
            f"metadata '{key}' is {types}, not {type_}",
            written.type.span,
            help=f"declare it as {types}",
        )
    nullable = key in _MAY_BE_NULL
    return MetadataColumnEntry(Column(written.name.name, type_, nullable=nullable), index, key)
