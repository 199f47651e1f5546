"""Options of ksqlDB: `WITH (kafka_topic = 'orders', value_format = 'JSON')` is a table of connector `kafka`.

What ksqlDB keeps elsewhere, such as the addresses of the
brokers, is not guessed.  Columns with `KEY` or `PRIMARY KEY` are in the key of messages only, as in ksqlDB.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.connectors import EXCEPT_KEY, KEY_FIELDS, KEY_FORMAT, VALUE_FIELDS
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.refusal import Refusal, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Warn = Callable[[Diagnostic], None]

TOPIC: Final = "kafka_topic"
_CHANGES: Final = "changes"
_FORMATS: Final = frozenset({"format", "value_format"})
_KEY_FORMATS: Final = frozenset({"key_format", "format"})
_OWN_FORMATS: Final = ("JSON", "TEXT", "DEBEZIUM-JSON")
_OF_TOPIC: Final = "fsql does not create topics: give it to the tool that does"
_NO_REGISTRY: Final = "remove it, and declare the columns: there is no schema registry"
_DELIMITED: Final = "remove it; messages are JSON"
_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "partitions": _OF_TOPIC,
    "replicas": _OF_TOPIC,
    "retention_ms": _OF_TOPIC,
    "cleanup_policy": _OF_TOPIC,
}
"""Options that cannot change results, with what to do instead."""
_REFUSED: Final[Mapping[str, str]] = {
    "value_delimiter": _DELIMITED,
    "key_delimiter": _DELIMITED,
    "value_schema_id": _NO_REGISTRY,
    "key_schema_id": _NO_REGISTRY,
    "value_schema_full_name": _NO_REGISTRY,
    "key_schema_full_name": _NO_REGISTRY,
    "value_avro_schema_full_name": _NO_REGISTRY,
    "value_protobuf_nullable_representation": _NO_REGISTRY,
    "key_protobuf_nullable_representation": _NO_REGISTRY,
    "window_type": "remove it; declare the bounds as columns, window_start TIMESTAMP, window_end TIMESTAMP",
    "window_size": "remove it; declare the bounds as columns, window_start TIMESTAMP, window_end TIMESTAMP",
    "source_connector": "remove it; connectors of Kafka Connect are not known here",
}
"""Options for which there is nothing here, with what to do instead."""
_DELIMITERS: Final[Mapping[str, str]] = {"SPACE": " ", "TAB": "\t"}


def with_topic_options(
    table: syntax.CreateTable, _base: str | None, warn: Warn
) -> syntax.CreateTable:
    """Return a table with the options of ksqlDB in the names that they have here.

    Raises:
        Refusal: E213, E214, E217, E301.
    """
    keys = table.primary_keys
    if any(each.key.value.lower() == TOPIC for each in table.options):
        keys = tuple(replace(each, enforced=False) for each in keys)
    return replace(table, options=tuple(_with_topic(table, warn)), primary_keys=keys)


def _with_topic(table: syntax.CreateTable, warn: Warn) -> list[syntax.TableOption]:
    written = {each.key.value.lower(): each for each in table.options}
    topic = written.get(TOPIC)
    if topic is None or "connector" in written:
        return [own for each in table.options for own in _elsewhere(each, warn)]
    made = [topic.renamed("connector", "kafka"), *_key_options(table, topic)]
    for each in table.options:
        made += _translate(each, warn)
    keys = {each.key.value.lower() for each in made}
    if _CHANGES not in keys:
        made.append(topic.renamed(_CHANGES, "append" if table.stream else "upsert"))
        _check_key(table, topic)
    return made


def key_of_query(table: syntax.CreateTable) -> Diagnostic | None:
    """Return what is said of a query without a key, if the table has the key of its query; else None."""
    options = {each.key.value.lower(): each for each in table.options}
    if TOPIC not in options or table.stream or table.primary_keys or _CHANGES in options:
        return None
    help_ = "select the bound of the windows, too: WINDOWSTART AS started"
    return _without_key(table, options[TOPIC], help_).diagnostic


def _elsewhere(written: syntax.TableOption, warn: Warn) -> Iterable[syntax.TableOption]:
    """Yield what an option of ksqlDB is called where another connector than a topic is named.

    Raises:
        Refusal: E213.
    """
    key, value = written.key.value.lower(), written.value.value
    if key == "value_format" and value.upper() == "DELIMITED":
        yield written.renamed("format", "csv")
        yield written.renamed("header", "false")
    elif key == "value_delimiter":
        yield written.renamed("delimiter", _DELIMITERS.get(value.upper(), value))
    elif key == "value_format":
        yield written.renamed("format", value.lower())
    elif key in _WITHOUT_EFFECT:
        yield from _translate(written, warn)
    else:
        yield written


def _check_key(table: syntax.CreateTable, topic: syntax.TableOption) -> None:
    """Check the PRIMARY KEY of a table whose messages are upserts, or a stream, which has none.

    Raises:
        Refusal: E217.
    """
    if table.stream:
        for key in table.primary_keys:
            raise refusal(
                "E217",
                "a stream has no PRIMARY KEY",
                key.span,
                help="write CREATE TABLE: its messages are the last row of each key",
            )
        return
    if not table.primary_keys:
        raise _without_key(
            table,
            topic,
            "declare it before WITH: (…, PRIMARY KEY (k) NOT ENFORCED);"
            " or write CREATE STREAM, if rows are only appended",
        )


def _without_key(table: syntax.CreateTable, topic: syntax.TableOption, help_: str) -> Refusal:
    return refusal(
        "E217",
        f'table "{table.name.parts[-1].name}" has no PRIMARY KEY',
        table.name.span,
        secondary=(Label(topic.span, "its messages are the last row of each key"),),
        help=help_,
    )


def _key_options(
    table: syntax.CreateTable, topic: syntax.TableOption
) -> Iterable[syntax.TableOption]:
    """Yield the options for the columns that only the key of messages has.

    A key of one column is a value without an object around it.

    Raises:
        Refusal: E214.
    """
    written = next((each for each in table.options if each.key.value.lower() in _KEY_FORMATS), None)
    form = "KAFKA" if written is None else written.value.value.upper()
    names = [each.name for key in table.primary_keys if key.enforced for each in key.columns]
    names += [
        each.name.name
        for each in table.columns
        if isinstance(each, syntax.PhysicalColumn) and each.message_key
    ]
    if not names:
        if written is not None and written.key.value.lower() == "key_format":
            _check_key_format(written, ("NONE", "JSON"))
        return
    if written is not None:
        _check_key_format(written, ("KAFKA", "JSON"))
    place = topic if written is None else written
    single = "raw" if form == "KAFKA" else "json-value"
    if len(names) > 1 and form == "KAFKA":
        raise refusal(
            "E214",
            f"a key of format KAFKA has one column, not {len(names)}",
            place.value.span,
            help="write key_format = 'JSON'",
        )
    yield place.renamed(KEY_FORMAT, single if len(names) == 1 else "json")
    yield place.renamed(KEY_FIELDS, ";".join(names))
    yield place.renamed(VALUE_FIELDS, EXCEPT_KEY)


def _translate(written: syntax.TableOption, warn: Warn) -> Iterable[syntax.TableOption]:
    """Yield what an option of ksqlDB is called here.

    Raises:
        Refusal: E213, E214.
    """
    key, value = written.key.value.lower(), written.value.value
    if key == TOPIC:
        yield written.renamed("topic", value)
    elif key in _FORMATS:
        if value.upper() not in _OWN_FORMATS:
            raise refusal(
                "E214",
                f"invalid value '{value}' of option '{key}'",
                written.value.span,
                "expected 'JSON', 'TEXT' or 'DEBEZIUM-JSON'",
                help="messages in Avro, Protobuf and DELIMITED are not read: convert the topic to JSON",
            )
        yield written.renamed("format", value.lower())
    elif key == "key_format":
        pass  # see `_key_options`
    elif key == "wrap_single_value":
        if value.lower() != "true":
            raise refusal(
                "E214",
                f"invalid value '{value}' of option '{key}'",
                written.value.span,
                "expected 'true'",
                help="the value of a message is a JSON object with the columns",
            )
    elif key in _WITHOUT_EFFECT:
        label = Label(written.key.span)
        message = f"option '{key}' has no effect"
        warn(Diagnostic("W203", message, label, helps=(_WITHOUT_EFFECT[key],)))
    elif key in _REFUSED:
        raise refusal(
            "E213", f"option '{key}' does not exist", written.key.span, help=_REFUSED[key]
        )
    else:
        yield written


def _check_key_format(written: syntax.TableOption, formats: tuple[str, ...]) -> None:
    """Check the form of the keys of messages.

    Raises:
        Refusal: E214.
    """
    if written.value.value.upper() not in formats:
        raise refusal(
            "E214",
            f"invalid value '{written.value.value}' of option '{written.key.value}'",
            written.value.span,
            "expected " + " or ".join(f"'{each}'" for each in formats if each != "NONE"),
            help="the key of a message is a JSON object with the columns of the PRIMARY KEY"
            if "NONE" in formats
            else "convert the keys to JSON: other formats are not read",
        )
