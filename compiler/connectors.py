"""The connectors and their options, in one table.

The compiler judges the options of a table by it; the runtime reads those same keys.  Options are kept as
they were given, keys in lower case; what is not given has the default that is named here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


DELIVERIES: Final = ("exactly-once", "at-least-once", "at-most-once", "none")
"""What an output may promise under failures; `runtime.cluster.delivery.DeliveryOption` keeps it."""


class OptionKind(enum.Enum):
    """What values an option takes; the member's value says it to people."""

    TEXT = "text that is not empty"
    CHOICE = "one of its choices"
    POSITIVE = "a whole number from 1"
    COUNT = "a whole number from 0"
    NAME = "the name of a column"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its key, its values, and what it means where it is not given."""

    key: str
    kind: OptionKind
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    greatest: int = 10**18

    def takes(self, value: str) -> bool:
        """Say whether the option may have `value`."""
        match self.kind:
            case OptionKind.CHOICE:
                return value in self.choices
            case OptionKind.POSITIVE:
                return _whole(value) and 1 <= int(value) <= self.greatest
            case OptionKind.COUNT:
                return _whole(value)
            case OptionKind.TEXT | OptionKind.NAME:
                return bool(value.strip())

    @property
    def expected(self) -> str:
        """Return what the option takes, to be read."""
        if self.kind is OptionKind.CHOICE:
            return " or ".join(f"'{choice}'" for choice in self.choices)
        if self.kind is OptionKind.POSITIVE and self.greatest < 10**18:
            return f"{self.kind.value} to {self.greatest}"
        return self.kind.value


def _whole(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 18


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector: whether a query can read it and write it, and its options."""

    name: str
    reads: bool
    writes: bool
    options: tuple[Option, ...]

    def option(self, key: str) -> Option | None:
        """Return the option of that key."""
        return next((option for option in self.options if option.key == key), None)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of all options."""
        return tuple(option.key for option in self.options)


_PATH: Final = Option("path", OptionKind.TEXT, required=True)
_ADDRESS: Final = Option("address", OptionKind.TEXT, required=True)
_FORMAT: Final = Option("format", OptionKind.CHOICE, ("json", "text"), default="json")
_ENDS: Final = Option("ends", OptionKind.CHOICE, ("never", "connection"), default="never")
_LOG_MIB: Final = Option("log_mib", OptionKind.POSITIVE, default="1024", greatest=1 << 40)

_TIME: Final = (
    Option("time", OptionKind.CHOICE, ("event", "offset", "start", "arrival")),
    Option("grain_ms", OptionKind.POSITIVE, default="1", greatest=86_400_000),
)
_RECORDS: Final = (
    Option("on_error", OptionKind.CHOICE, ("stop", "reject"), default="stop"),
    Option("rejects_path", OptionKind.TEXT),
    Option("max_record_bytes", OptionKind.POSITIVE, default="1048576"),
)
_CHANGES: Final = (
    Option("changes", OptionKind.CHOICE, ("append", "upsert", "retract")),
    Option("op_column", OptionKind.NAME, default="op"),
    Option("late_path", OptionKind.TEXT),
    Option("delivery", OptionKind.CHOICE, DELIVERIES, default="exactly-once"),
)
_GENERATED: Final = (
    Option("seed", OptionKind.COUNT, default="0"),
    Option("count", OptionKind.COUNT),
    Option("vocabulary", OptionKind.POSITIVE, default="10000"),
    Option("rate", OptionKind.POSITIVE),
    Option("start_ms", OptionKind.COUNT),
)

CONNECTORS: Final[Mapping[str, Connector]] = {
    connector.name: connector
    for connector in (
        Connector(
            "file", reads=True, writes=True, options=(_PATH, _FORMAT, *_TIME, *_RECORDS, *_CHANGES)
        ),
        Connector(
            "stdin", reads=True, writes=False, options=(_FORMAT, *_TIME, *_RECORDS, _LOG_MIB)
        ),
        Connector(
            "socket",
            reads=True,
            writes=False,
            options=(_ADDRESS, _FORMAT, _ENDS, *_TIME, *_RECORDS, _LOG_MIB),
        ),
        Connector("stdout", reads=False, writes=True, options=(_FORMAT, *_CHANGES)),
        Connector("tcp", reads=False, writes=True, options=(_ADDRESS, _FORMAT, *_CHANGES)),
        Connector("blackhole", reads=False, writes=True, options=_CHANGES),
        Connector(
            "documents",
            reads=True,
            writes=False,
            options=(*_GENERATED, Option("words", OptionKind.POSITIVE, default="100"), *_TIME),
        ),
        Connector(
            "words",
            reads=True,
            writes=False,
            options=(
                *_GENERATED,
                Option("words_per_line", OptionKind.POSITIVE, default="10"),
                *_TIME,
            ),
        ),
    )
}
"""The connectors by name, in the order in which messages list them."""
