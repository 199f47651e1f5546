"""The options of a table: checks their keys and values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.connectors import COMPRESSION_SUFFIXES, FOLLOW, Connector
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.binder.context import Context
    from fsql.compiler.connectors import Connector, Declarations, Format
    from fsql.compiler.logical import SinkTable
    from fsql.compiler.text.source import Span

_OF_LIVE: Final = {"on_truncate", "idle", "log_mib", "publication", "start", "ends"}
"""Options that require a table that is read as it grows or changes, if its connector reads others too."""
_IDLE: Final = "idle"
_AT_MOST_ONCE: Final = "at-most-once"


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The checked options of a table, with keys in lower case, in the order of the text.

    The options of `connector` include those of the table's format.
    """

    connector: Connector
    format: Format | None
    given: tuple[tuple[str, str], ...]
    spans: dict[str, Span]

    def value(self, key: str) -> str | None:
        """Return the value of an option, or its default."""
        for name, value in self.given:
            if name == key:
                return value
        option = self.connector.option(key)
        return None if option is None else option.default


def bind_options(table: syntax.CreateTable, context: Context) -> TableOptions:
    """Return the options of the table, checked against those of its connector and format.

    Raises:
        Refusal: E212 if no connector is named, E223 if options conflict.
        Abandoned: where other options were refused.
    """
    declared, report = context.declared, context.report
    bare = _connector(table, declared)
    format_ = _format(table, bare, declared)
    connector = declared.with_format(bare, "" if format_ is None else format_.name)
    values: dict[str, syntax.TableOption] = {}
    if _is_live(table, connector):
        connector = replace(connector, logs_arrival=True, has_metadata=False)
    with report.whole():
        for option in table.options:
            with report.part():
                key = option.key.value.lower()
                if key in values:
                    first = Label(values[key].key.span, "first here")
                    raise refusal(
                        "E205",
                        f"option '{key}' is set more than once",
                        option.key.span,
                        secondary=(first,),
                    )
                values[key] = option
                _check_option(connector, key, option, declared)
        with report.part():
            _check_required(connector, values, table.name.span)
    given = tuple((key, option.value.value) for key, option in values.items())
    if context.idle is not None and _has_idle_time(connector, values, table):
        given += ((_IDLE, context.idle),)
    spans = {key: option.value.span for key, option in values.items()}
    options = TableOptions(connector, format_, given, spans)
    _check_disjoint(options)
    _warn_of_suffix(options, context)
    return options


def with_options(options: TableOptions, added: Sequence[syntax.TableOption]) -> TableOptions:
    """Return options with others, which are known to be valid."""
    return replace(
        options,
        given=(*options.given, *((each.key.value, each.value.value) for each in added)),
        spans={**options.spans, **{each.key.value: each.value.span for each in added}},
    )


def _has_idle_time(
    connector: Connector, values: Mapping[str, syntax.TableOption], table: syntax.CreateTable
) -> bool:
    """Return whether a table is live, has event time, and does not say itself what idle is."""
    live = not connector.live_with or connector.live_with in values
    time = values["time"].value.value if "time" in values else "event"
    return (
        connector.option(_IDLE) is not None
        and live
        and _IDLE not in values
        and bool(table.watermarks)
        and time == "event"
    )


def _format(
    table: syntax.CreateTable, connector: Connector, declared: Declarations
) -> Format | None:
    """Return the format of the table, by default that of its connector; None if there is none."""
    default = connector.option("format")
    if default is None:
        return declared.format(connector.events) if _is_live(table, connector) else None
    named = [each.value.value for each in table.options if each.key.value.lower() == "format"]
    found = declared.format(named[0]) if named else None
    if found is not None and found in declared.formats_of(connector):
        return found
    return declared.format(default.default or "")


def _is_live(table: syntax.CreateTable, connector: Connector) -> bool:
    """Return whether a table is read as it grows or changes, by an option of its connector."""
    key = connector.live_with
    return bool(key) and any(option.key.value.lower() == key for option in table.options)


def _connector(table: syntax.CreateTable, declared: Declarations) -> Connector:
    for option in table.options:
        if option.key.value.lower() == "connector":
            name = option.value.value
            found = declared.connector(name)
            if found is not None:
                return found
            from fsql.compiler.dialects.advice.options import OTHER_CONNECTORS

            near = near_name(name, declared.names)
            raise refusal(
                "E212",
                f"connector '{name}' does not exist",
                option.value.span,
                note=f"connectors: {names_text(declared.names, limit=32)}",
                help=OTHER_CONNECTORS.get(
                    name.lower(),
                    f"a connector with a similar name exists: '{near}'" if near else None,
                ),
            )
    message = f'table "{table.name.parts[-1].name}" has no connector'
    for option in table.options:
        if near_name(option.key.value.lower(), ["connector"]):
            raise refusal("E212", message, option.key.span, help="write 'connector'")
    raise refusal(
        "E212",
        message,
        table.name.span,
        note=f"connectors: {names_text(declared.names, limit=32)}",
        help="write WITH ('connector' = 'file', 'path' = 'rows.jsonl')",
    )


def check_clock_options(options: TableOptions) -> None:
    """Check that a table without event time has no options for event time.

    Raises:
        Refusal: E222.
    """
    for key in ("idle", "max_ahead"):
        if key in options.spans:
            raise refusal(
                "E222",
                f"option '{key}' has no effect: the table has no event time",
                options.spans[key],
                help="declare event time: WATERMARK FOR at AS at - INTERVAL '5' SECOND",
            )


def check_deliveries(sinks: Sequence[SinkTable], declared: Iterable[TableEntry]) -> None:
    """Check that the delivery guarantees of the sinks can be combined.

    Raises:
        Refusal: E223, if one sink skips input after a failure and another does not.
    """
    options = [(sink.name, dict(sink.options).get("delivery")) for sink in sinks]
    losing = [name for name, delivery in options if delivery == _AT_MOST_ONCE]
    others = [name for name, delivery in options if delivery != _AT_MOST_ONCE]
    if losing and others:
        [span] = [entry.option_spans["delivery"] for entry in declared if entry.name == losing[0]]
        raise refusal(
            "E223",
            f'table "{losing[0]}" is delivered at most once, and "{others[0]}" is not',
            span,
            note="after a failure, input is skipped for all tables that the job writes",
            help="set the same 'delivery' for all tables that the job writes, or write two jobs",
        )


def _check_option(
    connector: Connector, key: str, written: syntax.TableOption, declared: Declarations
) -> None:
    if key == "connector":
        return
    option = connector.option(key)
    if option is None:
        others = list(declared.formats_with(connector, key))
        if others:
            raise refusal(
                "E213",
                f"option '{key}' belongs to another format",
                written.key.span,
                help=f"write 'format' = '{others[0]}', or remove the option",
            )
        from fsql.compiler.dialects.advice.options import own_key

        meant = next((each.key for each in connector.options if key in each.elsewhere), None)
        meant = meant or own_key(key, connector.keys)
        near = meant or near_name(key, connector.keys)
        raise refusal(
            "E213",
            f"connector '{connector.name}' has no option '{key}'",
            written.key.span,
            note=f"it has {names_text(connector.keys, limit=32)}",
            help=_option_help(near, is_meant=meant is not None),
        )
    if not option.takes(written.value.value):
        from fsql.compiler.dialects.advice.options import EVENT_FORMATS, EVENTS_IN_JSON

        raise refusal(
            "E214",
            f"invalid value '{written.value.value}' of option '{key}'",
            written.value.span,
            f"expected {option.expected_text}",
            help=EVENTS_IN_JSON if written.value.value in EVENT_FORMATS else None,
        )
    if key == "time" and written.value.value == "arrival" and not connector.logs_arrival:
        raise refusal(
            "E312",
            f"rows of connector '{connector.name}' have no arrival time that a replay would reproduce",
            written.value.span,
            help="declare event time: WATERMARK FOR at AS at - INTERVAL '5' SECOND",
        )


def _option_help(near: str | None, *, is_meant: bool) -> str | None:
    if near is None:
        return None
    return (
        f"the option is called '{near}'"
        if is_meant
        else f"an option with a similar name exists: '{near}'"
    )


def _check_required(
    connector: Connector, values: dict[str, syntax.TableOption], span: Span
) -> None:
    missing = [option.key for option in connector.options if option.required]
    missing = [key for key in missing if key not in values]
    if missing:
        raise _missing_option(connector, missing[0], span)
    if "rejects_path" in values and (
        "on_error" not in values or values["on_error"].value.value == "stop"
    ):
        raise refusal(
            "E222",
            "option 'rejects_path' has no effect without 'on_error' = 'reject'",
            values["rejects_path"].key.span,
            help="add 'on_error' = 'reject'",
        )
    live_with = connector.live_with
    if live_with and live_with not in values:
        for key in sorted(_OF_LIVE & values.keys()):
            raise refusal(
                "E222",
                f"option '{key}' has no effect without '{live_with}'",
                values[key].key.span,
                help=f"add '{FOLLOW}' = '1 s', and the files are followed"
                if live_with == FOLLOW
                else f"add '{live_with}' = '…', and the table is read as it changes",
            )


def _check_disjoint(options: TableOptions) -> None:
    """Check that options whose values could be confused with each other have different values.

    Raises:
        Refusal: E223.
    """
    for key, other in () if options.format is None else options.format.disjoint:
        value, contained = options.value(key) or "", options.value(other) or ""
        if contained not in value:
            continue
        spans = [options.spans[each] for each in (key, other) if each in options.spans]
        relation = "is also" if value == contained else "contains"
        raise refusal(
            "E223",
            f"option '{key}' is `{value}`, which {relation} the {other} character",
            spans[0],
            secondary=tuple(Label(span, f"the {other} character") for span in spans[1:]),
            help="choose another character for one of them",
        )


def _warn_of_suffix(options: TableOptions, context: Context) -> None:
    """Warn of a path with the suffix of another format, if the table declares no format."""
    if options.format is None or "format" in options.spans or "path" not in options.spans:
        return
    path = options.value("path") or ""
    suffixes = [
        suffix for suffix in PurePath(path.lower()).suffixes if suffix not in COMPRESSION_SUFFIXES
    ]
    for other in context.declared.formats_of(options.connector):
        if other is not options.format and suffixes and suffixes[-1] in other.suffixes:
            own = options.format.name
            message = f"path '{path}' ends in '{suffixes[-1]}', and the format is '{own}'"
            helps = (f"write 'format' = '{other.name}', or 'format' = '{own}'",)
            context.report.warn(
                Diagnostic("W201", message, Label(options.spans["path"]), helps=helps)
            )


def _missing_option(connector: Connector, key: str, span: Span) -> Refusal:
    return refusal(
        "E221",
        f"connector '{connector.name}' requires the option '{key}'",
        span,
        help=f"add '{key}' = '…'",
    )
