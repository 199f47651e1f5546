"""Options of tables as Flink names them, and what corresponds to them in fsql.

An option that cannot change results is left out with a warning; one that asks for what fsql does anyway is
left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import KEY_FORMAT, VALUE_FIELDS
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.dialects.advice.options import OPTION_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fsql.compiler import syntax

    Warn = Callable[[Diagnostic], None]

_CONNECTORS: Final[Mapping[str, str]] = {"filesystem": "file", "print": "stdout"}
_ONE_FILE: Final = "one file is written; the formats 'parquet' and 'avro' have 'rows_per_file'"
_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "sink.parallelism": "use --workers; results do not depend on it",
    "scan.parallelism": "use --workers; results do not depend on it",
    "source.report-statistics": "the planner measures the input; see fsql explain --stage tick",
    "sink.rolling-policy.": _ONE_FILE,
    "sink.partition-commit.": "rows are in their file when they are released",
    "sink.shuffle-by-partition.enable": _ONE_FILE,
    "auto-compaction": _ONE_FILE,
    "compaction.": _ONE_FILE,
    "json.decode.json-parser.enabled": "it concerns only how Flink reads JSON",
}
"""Options, or their beginnings, that do not change results, with what to use instead."""
_FIELDS_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "length": "random texts are words of different lengths",
    "var-len": "random texts are words of different lengths",
    "max-past": "times ascend in steps; see 'fields.*.start' and 'fields.*.step'",
}
_FIXED: Final[Mapping[str, tuple[str, str]]] = {
    "json.fail-on-missing-field": ("false", "declare the columns that every row has NOT NULL"),
    "scan.startup.mode": (
        "earliest-offset",
        "an input is read from its beginning; choose rows by their time with WHERE",
    ),
    "json.map-null-key.mode": ("fail", "a MAP has no NULL keys"),
    "json.encode.ignore-null-fields": ("false", "a column that is NULL is written as null"),
    "csv.allow-comments": ("false", "remove the comments from the file"),
    "csv.disable-quote-character": ("false", "choose a 'quote' that no field has"),
}
"""Options that change results: the value that stands for the behaviour of fsql, and advice for others."""
_REFUSED: Final[Mapping[str, str]] = {
    "print-identifier": "add the text to the rows: SELECT 'text' AS name, …",
    "standard-error": "remove it; rows are written to standard output",
    "source.path.regex-pattern": "write a pattern as the path: 'path' = 'dir/*.csv'",
    "key.json.ignore-parse-errors": "'on_error' says what happens at malformed keys and values",
    "partition.default-name": "__HIVE_DEFAULT_PARTITION__ and __DEFAULT_PARTITION__ are NULL",
}
"""Options for which there is nothing here, with what to do instead."""
_TIME_FORMAT: Final = "json.timestamp-format.standard"
_SCHEMAS: Final = "json.schema-include"
_IGNORE_ERRORS: Final = frozenset({"json.ignore-parse-errors", "csv.ignore-parse-errors"})
_KAFKA: Final = "kafka"
_UPSERT_KAFKA: Final = "upsert-kafka"
_KAFKA_KEYS: Final[Mapping[str, str]] = {
    "properties.bootstrap.servers": "servers",
    "properties.bootstrap.server": "servers",
    "value.format": "format",
}
_KAFKA_VALUES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "scan.startup.mode": (
        "start",
        {"earliest-offset": "earliest", "latest-offset": "latest"},
    ),
    "scan.bounded.mode": ("ends", {"unbounded": "never", "latest-offset": "latest"}),
}
_URI: Final = "file:"


def with_flink_options(
    table: syntax.CreateTable, base: str | None, warn: Warn
) -> syntax.CreateTable:
    """Return a table whose options have the names of fsql; `base` is the connector of the table in LIKE.

    Raises:
        Refusal: E213, E214, for an option or a value for which there is nothing here.
    """
    options = list(table.options)
    from_flink = any(_is_filesystem(each) for each in table.options)
    connectors = [each for each in options if each.key.value.lower() == "connector"]
    connector = connectors[0].value.value if connectors else base
    if connector is not None and connector.lower() == _UPSERT_KAFKA and connectors:
        connector, options = _KAFKA, _upserts(options, connectors[0])
    if connector == _KAFKA:
        options = [own for each in options for own in _kafka(each, warn)]
    made = [own for each in options for own in _translate(each, warn, uri=from_flink)]
    made = _with_count(made)
    given = {each.key.value.lower(): each.value.value for each in made}
    if from_flink and given.get("format") == "csv" and "header" not in given:
        made.append(next(filter(_is_filesystem, table.options)).renamed("header", "false"))
    return replace(table, options=tuple(made))


def _is_filesystem(option: syntax.TableOption) -> bool:
    return (option.key.value.lower(), option.value.value.lower()) == ("connector", "filesystem")


def _upserts(
    options: list[syntax.TableOption], connector: syntax.TableOption
) -> list[syntax.TableOption]:
    """Return the options of a topic of upserts as those of connector `kafka`."""
    made = [each.renamed("connector", _KAFKA) if each is connector else each for each in options]
    if all(each.key.value.lower() != "changes" for each in options):
        made.append(connector.renamed("changes", "upsert"))
    return made


def _kafka(written: syntax.TableOption, warn: Warn) -> Iterable[syntax.TableOption]:
    """Yield what an option of a topic is called here.

    Raises:
        Refusal: E214.
    """
    key, value = written.key.value.lower(), written.value.value
    if key in _KAFKA_VALUES:
        own, values = _KAFKA_VALUES[key]
        _check_value(written, tuple(values), f"see '{own}' in docs/connectors.md")
        yield written.renamed(own, values[value.lower()])
    elif key in _KAFKA_KEYS:
        yield written.renamed(_KAFKA_KEYS[key], value)
    elif key == VALUE_FIELDS:
        yield written.renamed(key, value.upper())
    elif key == KEY_FORMAT:
        yield written.renamed(key, value.lower())
    elif key.startswith(("value.json.", "value.debezium-json.")):
        yield written.renamed(key.removeprefix("value."), value)
    elif key == "properties.group.id":
        helps = ("jobs do not share a topic: each reads all partitions",)
        message = f"option '{key}' has no effect"
        warn(Diagnostic("W203", message, Label(written.key.span), helps=helps))
    else:
        yield written


def _translate(
    written: syntax.TableOption, warn: Warn, *, uri: bool
) -> Iterable[syntax.TableOption]:
    """Return what an option is called here, if it has an effect.

    Raises:
        Refusal: E213, E214.
    """
    # Options of format `debezium-json` are those of `json`, and whether there are schemas, which is seen.
    key, value = written.key.value.lower().removeprefix("debezium-"), written.value.value
    advice = _advice(key)
    if advice is not None:
        label = Label(written.key.span)
        message = f"option '{key}' has no effect"
        warn(Diagnostic("W203", message, label, helps=(advice,)))
    elif key in _REFUSED:
        raise refusal(
            "E213", f"option '{key}' does not exist", written.key.span, help=_REFUSED[key]
        )
    elif key in _IGNORE_ERRORS:
        _check_value(written, ("true", "false"), "")
        if value.lower() == "true":
            yield written.renamed("on_error", "null_field")
    elif key == _SCHEMAS:
        _check_value(written, ("true", "false"), "")
    elif key == _TIME_FORMAT:
        _check_value(written, ("SQL", "ISO-8601"), "")
        if value.upper() == "SQL":
            helps = ("both forms are read, and times are written in ISO 8601; see DATE_FORMAT",)
            message = f"option '{key}' has no effect"
            warn(Diagnostic("W203", message, Label(written.key.span), helps=helps))
    elif key in _FIXED:
        _check_value(written, _FIXED[key][:1], _FIXED[key][1])
    else:
        yield _renamed(written, key, value, uri=uri)


def _renamed(written: syntax.TableOption, key: str, value: str, *, uri: bool) -> syntax.TableOption:
    """Return an option with the key and the value that it has here."""
    field, _, part = key.rpartition(".")
    if key == "connector":
        return written.renamed(key, _CONNECTORS.get(value.lower(), value))
    if key == "format" and value.lower() == "raw":
        return written.renamed(key, "text")
    if key == "path" and uri and value.lower().startswith(_URI):
        return written.renamed(key, value[len(_URI) :].removeprefix("//"))
    if key in OPTION_KEYS or key == "delimiter":
        return written.renamed(OPTION_KEYS.get(key, key), "\t" if value == "\\t" else value)
    if key.startswith("fields.") and part == "null-rate":
        return written.renamed(f"{field}.null_rate", value)
    return written


def _advice(key: str) -> str | None:
    """Return what to know about an option that has no effect; None for others."""
    if key.startswith("fields."):
        return _FIELDS_WITHOUT_EFFECT.get(key.rpartition(".")[2])
    return next((text for name, text in _WITHOUT_EFFECT.items() if key.startswith(name)), None)


def _check_value(written: syntax.TableOption, values: tuple[str, ...], advice: str) -> None:
    if written.value.value.lower() not in {each.lower() for each in values}:
        expected = " or ".join(f"'{each}'" for each in values)
        raise refusal(
            "E214",
            f"invalid value '{written.value.value}' of option '{written.key.value}'",
            written.value.span,
            f"expected {expected}",
            help=advice or None,
        )


def _with_count(options: list[syntax.TableOption]) -> list[syntax.TableOption]:
    """Return options in which the ends of sequences have become the number of rows.

    Raises:
        Refusal: E214, if an end or its start is not a whole number.
    """
    values = {each.key.value.lower(): each for each in options}
    ends = [each for each in options if _is_end(each)]
    if not ends:
        return options
    counts = []
    for end in ends:
        field = end.key.value.lower().removesuffix("end")
        first, step = values.get(f"{field}start"), values.get(f"{field}step")
        if first is None:
            raise refusal(
                "E214",
                f"option '{end.key.value}' has no start",
                end.key.span,
                help=f"add '{end.key.value[: -len('end')]}start' = '1'",
            )
        by = 1 if step is None else max(1, _whole(step))
        counts.append((max(0, (_whole(end) - _whole(first)) // by + 1), end))
    count, end = min(counts, key=lambda each: each[0])
    rest = [each for each in options if not _is_end(each)]
    given = values.get("count")
    if given is None or not given.value.value.isdecimal():
        return [*rest, end.renamed("count", str(count))]
    least = given.renamed("count", str(min(count, int(given.value.value))))
    return [least if each is given else each for each in rest]


def _is_end(option: syntax.TableOption) -> bool:
    key = option.key.value.lower()
    return key.startswith("fields.") and key.endswith(".end")


def _whole(option: syntax.TableOption) -> int:
    text = option.value.value
    if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 18:
        raise refusal(
            "E214",
            f"invalid value '{text}' of option '{option.key.value}'",
            option.value.span,
            "expected a whole number",
            help="write the number of rows: 'count' = '100'",
        )
    return int(text)
