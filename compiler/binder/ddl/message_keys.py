"""Columns in the key of messages: the options that name them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import no_column, not_implemented, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.connectors import EXCEPT_KEY, KEY_FIELDS, KEY_FORMAT, KEY_PREFIX, VALUE_FIELDS
from fsql.compiler.diagnostics import Label
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from fsql.compiler.binder.ddl.options import TableOptions
    from fsql.compiler.schema import Schema
    from fsql.compiler.text.source import Span

_RAW: Final = (Kind.STRING, Kind.BYTES, Kind.INT, Kind.BIGINT, Kind.DOUBLE)


def with_message_key(
    table: syntax.CreateTable,
    options: TableOptions,
    columns: Schema,
    primary_key: tuple[int, ...] | None,
) -> TableOptions:
    """Return the options of a table, with the columns of the key of messages as they are declared.

    Raises:
        Refusal: E203, E205, E223, E301, E318.
    """
    spans = options.spans
    form = options.value(KEY_FORMAT) if KEY_FORMAT in spans else None
    if form is None:
        _check_without_form(table, options)
        return options
    if options.format is not None and options.format.has_envelope:
        raise not_implemented(
            f"columns in the key of messages of format '{options.format.name}'",
            spans[KEY_FORMAT],
            help=f"remove '{KEY_FORMAT}': a change event has the columns of the key",
        )
    names = [column.name for column in columns]
    fields = _fields(options, names)
    of_table = None if primary_key is None else [names[index] for index in primary_key]
    if fields is None:
        fields = of_table
    elif of_table is not None and sorted(fields) != sorted(of_table):
        raise refusal(
            "E223",
            f"option '{KEY_FIELDS}' names other columns than the PRIMARY KEY",
            spans[KEY_FIELDS],
            secondary=(Label(table.primary_keys[0].span, "the key of messages"),),
            help=f"remove '{KEY_FIELDS}'; or remove the PRIMARY KEY, if rows are only appended",
        )
    if fields is None:
        raise refusal(
            "E223",
            f"option '{KEY_FORMAT}' without columns of the key",
            spans[KEY_FORMAT],
            secondary=(Label(table.name.span, "no column of it is in the key of messages"),),
            help=f"name them: '{KEY_FIELDS}' = '{names[0]}'",
        )
    _check_prefix(options, fields)
    _check_form(options, form, fields, columns)
    _check_attributes(table, fields)
    if options.value(VALUE_FIELDS) == EXCEPT_KEY and len(fields) == len(columns):
        raise refusal(
            "E318",
            f'table "{table.name.parts[-1].name}" has no columns in the value of messages',
            table.name.span,
            secondary=(Label(spans[VALUE_FIELDS], "because all columns are in the key"),),
            help=f"write '{VALUE_FIELDS}' = 'ALL', or add a column",
        )
    given = tuple(each for each in options.given if each[0] != KEY_FIELDS)
    return replace(options, given=(*given, (KEY_FIELDS, ";".join(fields))))


def value_columns(options: TableOptions, columns: Schema) -> Schema:
    """Return the columns that the value of messages has, or the record of a row."""
    given = dict(options.given)
    if given.get(VALUE_FIELDS) != EXCEPT_KEY:
        return columns
    fields = given[KEY_FIELDS].split(";")
    return tuple(column for column in columns if column.name not in fields)


def _check_without_form(table: syntax.CreateTable, options: TableOptions) -> None:
    """Check that a table whose messages have no declared key has no options for it.

    Raises:
        Refusal: E223, E301.
    """
    _check_attributes(table, [])
    for key in (KEY_FIELDS, KEY_PREFIX):
        if key in options.spans:
            raise _no_form(key, options.spans[key])
    if VALUE_FIELDS in options.spans and options.value(VALUE_FIELDS) == EXCEPT_KEY:
        raise _no_form(VALUE_FIELDS, options.spans[VALUE_FIELDS])


def _no_form(key: str, span: Span) -> Exception:
    return refusal(
        "E223",
        f"option '{key}' without '{KEY_FORMAT}'",
        span,
        help=f"add '{KEY_FORMAT}' = 'json', or 'raw' for the bytes of one column",
    )


def _check_attributes(table: syntax.CreateTable, fields: list[str]) -> None:
    """Check that the columns with the attribute KEY are in the key of messages.

    Raises:
        Refusal: E301.
    """
    for column in table.columns:
        if (
            isinstance(column, syntax.PhysicalColumn)
            and column.message_key
            and column.name.name not in fields
        ):
            raise not_implemented(
                "a column in the key of messages without the option kafka_topic",
                column.span,
                help=f"remove KEY; for connector 'kafka' write '{KEY_FORMAT}' = 'json', "
                f"'{KEY_FIELDS}' = '{column.name.name}', '{VALUE_FIELDS}' = '{EXCEPT_KEY}'",
            )


def _fields(options: TableOptions, names: list[str]) -> list[str] | None:
    """Return the columns that an option names, None if there is no such option.

    Raises:
        Refusal: E203, E205.
    """
    if KEY_FIELDS not in options.spans:
        return None
    span, found = options.spans[KEY_FIELDS], []
    for part in (options.value(KEY_FIELDS) or "").split(";"):
        name = next((each for each in names if each == part.strip()), None)
        name = name or next((each for each in names if each.lower() == part.strip().lower()), None)
        if name is None:
            raise no_column(
                syntax.Identifier(span, part.strip(), quoted=True),
                names,
                note=f"the key of messages is made of {names_text(names)}",
            )
        if name in found:
            raise refusal("E205", f'column "{name}" is in the key more than once', span)
        found.append(name)
    return found


def _check_prefix(options: TableOptions, fields: list[str]) -> None:
    """Check the prefix of the columns of the key.

    Raises:
        Refusal: E223.
    """
    if KEY_PREFIX not in options.spans:
        return
    prefix, span = options.value(KEY_PREFIX) or "", options.spans[KEY_PREFIX]
    if options.value(VALUE_FIELDS) != EXCEPT_KEY:
        raise refusal(
            "E223",
            f"option '{KEY_PREFIX}' without '{VALUE_FIELDS}' = '{EXCEPT_KEY}'",
            span,
            note="the value of a message would have the columns of the key under other names",
            help=f"add '{VALUE_FIELDS}' = '{EXCEPT_KEY}'",
        )
    for name in fields:
        if not name.startswith(prefix) or name == prefix:
            raise refusal(
                "E223",
                f"column \"{name}\" of the key does not begin with '{prefix}'",
                span,
                help=f"rename the column, to \"{prefix}{name}\", or remove '{KEY_PREFIX}'",
            )


def _check_form(options: TableOptions, form: str, fields: list[str], columns: Schema) -> None:
    """Check that the key of messages can have the columns in its form.

    Raises:
        Refusal: E318.
    """
    if form == "json":
        return
    span = options.spans[KEY_FORMAT]
    if len(fields) > 1:
        raise refusal(
            "E318",
            f"a key of form '{form}' has one column, not {len(fields)}",
            span,
            help=f"write '{KEY_FORMAT}' = 'json'",
        )
    [column] = [each for each in columns if each.name == fields[0]]
    if form == "raw" and column.type.kind not in _RAW:
        raise refusal(
            "E318",
            f'column "{column.name}" is {column.type}, which a raw key cannot have',
            span,
            note=f"raw keys are {names_text([each.value for each in _RAW])}",
            help=f"declare it as BYTES, or write '{KEY_FORMAT}' = 'json'",
        )
