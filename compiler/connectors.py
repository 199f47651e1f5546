"""The declarations of connectors and formats: their options, and the documentation of these.

The declarations themselves are in `fsql.connectors` and `fsql.formats`, one module `options` for each.
The compiler is handed all of them as one `Declarations`; it imports none.  A table's options are kept as they
were given, keys in lower case; an option that is not given has the default that is declared.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote, unquote

from fsql.compiler.durations import duration_us
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Options: TypeAlias = tuple[tuple[str, str], ...]
"""Options of a table, keys and values, in the order of the text."""

COMPRESSION_SUFFIXES: Final = {".gz": "gzip", ".zst": "zstd"}
"""The codec of a file of lines, by the last suffix of its name."""

DELIVERIES: Final = ("exactly-once", "at-least-once", "at-most-once", "none")
"""What an output may promise under failures; `runtime.cluster.delivery.DeliveryOption` keeps it."""


SHARDS_MAX: Final = 64
"""How many files a table may be written to."""

POSITION_COLUMN: Final = "position"
"""The field of a sharded table with the root position of each row."""


FOLLOW: Final = "source.monitor-interval"
"""The option of a table whose files are followed: its input is live."""


METADATA: Final = "metadata"
"""The option with the metadata columns of a table that is read; scripts cannot set it."""
IMAGES: Final = "images"
"""The option of a table of events with the columns of the new row, then of the old: which are NOT NULL."""
OLD_KEY: Final = "old_key"
"""The option of a table of events with the columns of the row, then of the old key: which those are."""
REQUIRED: Final = "required"
"""The option of a table of changes with the columns that only deletions may lack: they are NOT NULL."""
FILE_METADATA: Final = {"file": "STRING", "row": "BIGINT"}
"""The metadata of rows of files: the name of the file, and the row's number in it, from 0."""
MESSAGE_METADATA: Final = {
    "topic": ("STRING",),
    "partition": ("INT", "BIGINT"),
    "offset": ("BIGINT",),
    "timestamp": ("TIMESTAMP_LTZ", "TIMESTAMP"),
    "timestamp-type": ("STRING",),
    "headers": ("MAP<STRING, BYTES>",),
    "leader-epoch": ("INT", "BIGINT"),
    "key": ("STRING", "BYTES"),
}
"""The metadata of messages of topics, each with the types of columns for it, without their parameters.

The names are those that scripts use, except `key`.
"""
_PARTITION: Final = "partition:"
KEY_FORMAT: Final = "key.format"
KEY_FIELDS: Final = "key.fields"
"""The columns in the key of messages; the compiler completes it, with their names as they are declared."""
KEY_PREFIX: Final = "key.fields-prefix"
VALUE_FIELDS: Final = "value.fields-include"
EXCEPT_KEY: Final = "EXCEPT_KEY"
"""The value of `VALUE_FIELDS` with which the value of a message lacks the columns of its key."""


def partition_key(name: str) -> str:
    """Return the key, in the option METADATA, of a column whose value is in the names of folders."""
    return _PARTITION + quote(name, safe="")


def partition_name(key: str) -> str | None:
    """Return the name of the partition column with that key; None for other metadata."""
    return unquote(key.removeprefix(_PARTITION)) if key.startswith(_PARTITION) else None


OVERWRITE: Final = "overwrite"
"""The option of a table that is written by INSERT OVERWRITE; scripts cannot set it."""


class OptionKind(enum.Enum):
    """What values an option takes; the member's value is used in messages."""

    TEXT = "text that is not empty"
    ANY_TEXT = "any text"
    CHOICE = "one of its choices"
    POSITIVE = "a whole number from 1"
    COUNT = "a whole number from 0"
    NAME = "the name of a column"
    CHARACTER = "one ASCII character"
    DURATION = "a duration such as `10 s` (ms, s, min, h, d)"


class Effect(enum.Enum):
    """What another value of an option would change; all but ROWS may change while a job keeps its state."""

    ROWS = "which rows there are, where they are, or the bytes that are written"
    TIMES = (
        "as ROWS, where a column of times has no `step` of its own; otherwise only when rows come"
    )
    PRESENCE = "as ROWS if one of the two values is missing; otherwise only when rows come"
    STOPS = "as ROWS, if the job goes on after malformed rows; otherwise only at which row it stops"
    PACE = "when rows come, what is kept of them meanwhile, or how the other side is authenticated"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its key, its values, and what it means; `about` is a line of documentation.

    `elsewhere` are the keys that other systems give it; an error about one of these names the key.  `effect`
    says whether a job can continue on its state with another value.  One of a format with `at_rest` is for
    connectors that read inputs at rest, from the beginning of each to its end.
    """

    key: str
    kind: OptionKind
    about: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    greatest: int = 10**18
    elsewhere: tuple[str, ...] = ()
    effect: Effect = Effect.ROWS
    at_rest: bool = False

    def has_key(self, key: str) -> bool:
        """Return whether the option has that key, for some column if its own has a `*`."""
        before, star, after = self.key.partition("*")
        if not star:
            return key == self.key
        fits = key.startswith(before) and key.endswith(after)
        return fits and len(key) > len(before) + len(after)

    def takes(self, value: str) -> bool:
        """Return whether the option may have `value`."""
        match self.kind:
            case OptionKind.CHOICE:
                return value in self.choices
            case OptionKind.POSITIVE | OptionKind.COUNT:
                least = int(self.kind is OptionKind.POSITIVE)
                return _whole(value) and least <= int(value) <= self.greatest
            case OptionKind.CHARACTER:
                return len(value) == 1 and value.isascii() and value not in "\r\n\0"
            case OptionKind.ANY_TEXT:
                return "\n" not in value and "\r" not in value
            case OptionKind.DURATION:
                return value in self.choices or duration_us(value) is not None
            case OptionKind.TEXT | OptionKind.NAME:
                return bool(value.strip())

    @property
    def expected_text(self) -> str:
        """Return the values that the option takes, as text."""
        if self.kind is OptionKind.CHOICE:
            return " or ".join(f"'{choice}'" for choice in self.choices)
        if self.kind is OptionKind.DURATION and self.choices:
            return f"{self.kind.value}, or `{self.choices[0]}`"
        if self.kind is OptionKind.POSITIVE and self.greatest < 10**18:
            return f"{self.kind.value} to {self.greatest}"
        return self.kind.value


def _whole(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 18


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """Which columns a table may have: `types` are the lists of type names that fit, each sorted."""

    types: tuple[tuple[str, ...], ...]
    message: str
    help: str

    def allows(self, types: Iterable[str]) -> bool:
        """Return whether a table may have columns of these types."""
        return tuple(sorted(types)) in self.types


class Layout(enum.Enum):
    """How rows are stored in bytes: as lines, which any stream carries, or a file with its own structure."""

    LINES = "lines"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how it lays rows out, whether it can represent changes and lists, and its options.

    With `has_envelope` every record is a change, and its kind is in a record around the row.

    `about` is one line, `notes` are paragraphs of documentation.  Files of the format usually end in one of
    `suffixes`.  Of each pair of options in `disjoint`, the value of the first may not contain that of the
    second.

    With `ascii_names` columns and fields have names of ASCII letters, digits and `_`, with `text_keys` all
    keys of maps are STRING.
    """

    name: str
    about: str
    layout: Layout
    takes_changes: bool
    options: tuple[Option, ...] = ()
    notes: str = ""
    takes_lists: bool = True
    columns: ColumnRule | None = None
    suffixes: tuple[str, ...] = ()
    disjoint: tuple[tuple[str, str], ...] = ()
    has_envelope: bool = False
    ascii_names: bool = False
    text_keys: bool = False


@dataclass(frozen=True, slots=True)
class InputEnd:
    """Whether the input of a connector ends by itself, so that a query can know that it has all rows.

    It `ends` unless the option `key` says the opposite: by being given, or by having that `value`.
    """

    ends: bool
    key: str | None = None
    value: str | None = None

    def is_known(self, options: Options) -> bool:
        """Return whether input with these options ends."""
        given = None if self.key is None else dict(options).get(self.key)
        return self.ends == (given is None or self.value not in {None, given})

    @property
    def remedy(self) -> str | None:
        """Return what makes input end that does not, as text."""
        if self.key is None:
            return None
        if self.ends:
            return f"remove '{self.key}'"
        return f"'{self.key}' = '{self.value or _ENOUGH}'"


NO_END: Final = InputEnd(ends=False)
ALWAYS_ENDS: Final = InputEnd(ends=True)
_ENOUGH: Final = 1000


FORMAT: Final = Option("format", OptionKind.CHOICE, "form of the records", default="json")
"""The place of the format's options among those of a connector; its choices are the formats that fit."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector: whether a query can read it and write it, and its options.

    `about` is one line, `notes` are paragraphs of documentation.  `layouts` are the formats that it carries,
    if its options have `FORMAT`, all of them or those named in `formats`.  With `has_metadata` the rows have
    `FILE_METADATA`, with `has_message_metadata` `MESSAGE_METADATA`.  With `logs_arrival` the arrival of each
    row is known at a replay, with `infers_columns` a table need not declare what it reads, with
    `reads_at_rest` inputs can be at rest, and with `rows_are_messages` each written row is a message of its
    own, so that workers do not encode rows as lines.  With `tells_bounds` the sinks of a job are told the
    same positions, also where they have no rows.  `end` says whether what is read ends.  A connector that is
    `library_only` is not suggested to authors of scripts.

    With the option `live_with`, and only then, a table is live: it is read as it grows or changes.  A live
    table of a connector with `events` is read as change events of the format of that name.
    """

    name: str
    about: str
    reads: bool
    writes: bool
    options: tuple[Option, ...]
    layouts: tuple[Layout, ...] = ()
    formats: tuple[str, ...] = ()
    notes: str = ""
    columns: ColumnRule | None = None
    library_only: bool = False
    has_metadata: bool = False
    has_message_metadata: bool = False
    logs_arrival: bool = False
    infers_columns: bool = False
    reads_at_rest: bool = False
    rows_are_messages: bool = False
    live_with: str = ""
    events: str = ""
    tells_bounds: bool = False
    end: InputEnd = NO_END

    def option(self, key: str) -> Option | None:
        """Return the option of that key; a `*` in a key is the name of a column."""
        return next((option for option in self.options if option.has_key(key)), None)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of all options."""
        return tuple(option.key for option in self.options)


@dataclass(frozen=True, slots=True)
class Declarations:
    """All connectors and all formats, in the order in which messages and documents list them."""

    connectors: tuple[Connector, ...]
    formats: tuple[Format, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the connectors that a script can use."""
        return tuple(each.name for each in self.connectors if not each.library_only)

    def connector(self, name: str) -> Connector | None:
        """Return the connector of that name, without the options of any format."""
        return next((each for each in self.connectors if each.name == name), None)

    def format(self, name: str) -> Format | None:
        """Return the format of that name."""
        return next((each for each in self.formats if each.name == name), None)

    def formats_of(self, connector: Connector) -> tuple[Format, ...]:
        """Return the formats that a connector carries."""
        return tuple(
            each
            for each in self.formats
            if each.layout in connector.layouts
            and (not connector.formats or each.name in connector.formats)
        )

    def with_format(self, connector: Connector, format_name: str) -> Connector:
        """Return the connector with `FORMAT` replaced by the options of a format.

        A format's option hides one of the connector's with the same key.
        """
        choices = tuple(each.name for each in self.formats_of(connector))
        if FORMAT.key not in connector.keys:
            return connector
        own = self.format(format_name)
        added = () if own is None or own.name not in choices else own.options
        added = tuple(each for each in added if connector.reads_at_rest or not each.at_rest)
        hidden = {option.key for option in added}
        merged: list[Option] = []
        for option in connector.options:
            if option.key == FORMAT.key:
                merged += (replace(FORMAT, choices=choices), *added)
            elif option.key not in hidden:
                merged.append(option)
        return replace(connector, options=tuple(merged))

    def formats_with(self, connector: Connector, key: str) -> Iterator[str]:
        """Yield the names of the connector's formats that have the option `key`."""
        for each in self.formats_of(connector):
            if any(option.key == key for option in each.options):
                yield each.name


TIME_OPTIONS: Final = (
    Option(
        "time",
        OptionKind.CHOICE,
        "what orders the rows: event time, row numbers, or nothing (a table at rest, read before all"
        " else); see [order](language.md#time-and-order)",
        ("event", "offset", "start", "arrival"),
    ),
    Option(
        "grain_ms",
        OptionKind.POSITIVE,
        "the watermark advances in steps of this many milliseconds",
        default="1",
        greatest=86_400_000,
    ),
)
"""Options of every table that is read: the engine follows them, whatever the connector."""

NULL_FIELD: Final = "null_field"
"""The value of `on_error` with which malformed values are NULL."""

ON_ERROR: Final = "on_error"
STOP: Final = "stop"
"""The value of `on_error` with which a malformed row stops the job."""

RECORD_OPTIONS: Final = (
    Option(
        ON_ERROR,
        OptionKind.CHOICE,
        "what happens at a malformed row: the job stops, or the row becomes a reject; with `null_field` a"
        " malformed value is NULL and counted, where NULL is allowed, and only what remains malformed"
        " becomes a reject",
        (STOP, "reject", NULL_FIELD),
        default=STOP,
    ),
    Option(
        "rejects_path",
        OptionKind.TEXT,
        "where rejects are written, with `'on_error' = 'reject'` or `'null_field'`",
    ),
)
"""Options of tables whose rows may be malformed."""

RECORD_LENGTH: Final = Option(
    "max_record_bytes",
    OptionKind.POSITIVE,
    "longest record that is read; at most 16 MiB",
    default="1048576",
    effect=Effect.STOPS,
)
"""An option of every format of lines."""

READ_CHANGE_OPTIONS: Final = (
    Option(
        "changes",
        OptionKind.CHOICE,
        "what the rows are; see [changes](language.md#changes)",
        ("append", "upsert", "retract"),
    ),
    Option(
        "op_column",
        OptionKind.NAME,
        "name of the field with the kind of change",
        default="op",
    ),
)
"""Options of every table whose rows may be changes."""

CHANGE_OPTIONS: Final = (
    *READ_CHANGE_OPTIONS,
    Option(
        "late_path",
        OptionKind.TEXT,
        "where rows that were too late for the query's windows and joins are written",
    ),
    Option(
        "delivery",
        OptionKind.CHOICE,
        "what is guaranteed when a job that keeps state continues after a failure; see"
        " [delivery](language.md#delivery)",
        DELIVERIES,
        default="exactly-once",
    ),
)
"""Options of every table that is written."""
