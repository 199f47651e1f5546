"""The options of a table with their defaults and types, as connectors and formats read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import IMAGES, NULL_FIELD, OLD_KEY, REQUIRED
from fsql.compiler.diagnostics import Diagnostic, FsqlError

if TYPE_CHECKING:
    from fsql.compiler.connectors import Connector
    from fsql.compiler.schema import Schema

RECORD_BYTES_CAP: Final = 16 * 1024 * 1024
"""The maximum of `max_record_bytes`; it bounds the memory that a hostile line can use."""


APPEND: Final = "append"
"""The value of the option `changes` of a table whose rows are only added."""


class Settings:
    """The options of one table; the compiler has checked keys and forms."""

    def __init__(self, options: tuple[tuple[str, str], ...], connector: Connector) -> None:
        """Take the options of a table, and its connector, whose options include those of the format."""
        self._given = dict(options)
        self.connector = connector

    def optional(self, key: str) -> str | None:
        """Return the value of an option or its default, None if it has neither."""
        declared = self.connector.option(key)
        assert declared is not None, f"{self.connector.name} has no option {key}"
        return self._given.get(key, declared.default)

    def gives(self, key: str) -> bool:
        """Return whether the table has an option, and not its default."""
        return key in self._given

    def text(self, key: str) -> str:
        """Return the value of an option that is required or has a default."""
        value = self.optional(key)
        assert value is not None, f"the compiler let a table pass without {key}"
        return value

    def number(self, key: str) -> int:
        """Return the value of a numeric option that is required or has a default."""
        return int(self.text(key))

    @property
    def reads_changes(self) -> bool:
        """Return whether the rows that are read from the table are changes."""
        return self._given.get("changes", APPEND) != APPEND

    @property
    def required_in_images(self) -> frozenset[int] | None:
        """Return the columns that are NOT NULL in both images of a change event, if both are read."""
        indexes = self._given.get(IMAGES)
        return None if indexes is None else frozenset(map(int, filter(None, indexes.split(","))))

    @property
    def old_key(self) -> tuple[int, ...] | None:
        """Return the columns whose old values are read from change events after the columns of the row."""
        indexes = self._given.get(OLD_KEY)
        return None if indexes is None else tuple(map(int, indexes.split(",")))

    @property
    def required_unless_deleted(self) -> tuple[int, ...]:
        """Return the columns that are NULL in deletions only, where the key is all that is needed."""
        indexes = self._given.get(REQUIRED)
        return () if indexes is None else tuple(map(int, indexes.split(",")))

    def nulled_columns(self, columns: Schema) -> frozenset[str]:
        """Return the names of the columns whose malformed values are NULL.

        The kind of a change, which is the first column if rows are changes, is not one of them.
        """
        if self._given.get("on_error") != NULL_FIELD:
            return frozenset()
        required = {columns[index].name for index in self.required_unless_deleted}
        values = columns[1:] if self.reads_changes else columns
        return frozenset(c.name for c in values if c.nullable and c.name not in required)

    def flag(self, key: str) -> bool:
        """Return the value of an option that is `true` or `false`."""
        return self.text(key) == "true"

    def optional_number(self, key: str) -> int | None:
        """Return the value of a numeric option or its default, None if it has neither."""
        value = self.optional(key)
        return None if value is None else int(value)

    def record_bytes_max(self) -> int:
        """Return the maximum length of a record.

        Raises:
            FsqlError: E534, if the option exceeds `RECORD_BYTES_CAP`.
        """
        requested = self.number("max_record_bytes")
        if requested > RECORD_BYTES_CAP:
            message = (
                f'option "max_record_bytes" is {requested:,}; the limit is {RECORD_BYTES_CAP:,}'
            )
            raise FsqlError([Diagnostic("E534", message, helps=("write smaller records",))])
        return requested
