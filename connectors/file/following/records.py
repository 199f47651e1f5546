"""Whole records at the beginning of bytes: what of a growing file can be read now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.formats.lines import LineCutter
from fsql.formats.malformed import EXCERPT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.formats.lines import LineDecoder

_BLOCK_BYTES: Final = 1 << 20
_SLACK_BYTES: Final = 64
"""Makes what is kept of a line longer than a record may be, whatever ends it."""


class WholeRecords:
    """Finds the ends of records of one format."""

    def __init__(self, decoder: Callable[[], LineDecoder]) -> None:
        self._decoder = decoder()
        longest = max(self._decoder.record_bytes_max, EXCERPT_BYTES) + _SLACK_BYTES
        self.kept_bytes = longest
        """How much of a line is kept that is longer than a record may be."""
        self.block_bytes = max(_BLOCK_BYTES, 2 * longest)
        """The number of bytes that have a whole record, or begin with a line that is too long."""

    @property
    def has_header(self) -> bool:
        """Return whether the first line of each file is not a record."""
        return self._decoder.has_header

    def check_header(self, line: bytes, path: str) -> None:
        """Check the first line of a file.

        Raises:
            FsqlError: E543, if it does not have the columns of the table, in their order.
        """
        if len(line) >= self.kept_bytes:
            message = f'input "{path}" cannot be read: its header is too long'
            raise FsqlError([Diagnostic("E543", message)])
        self._decoder.take_header(line.removesuffix(b"\r"), path, ordered=True)

    def length(self, data: bytes) -> int:
        """Return how many of the first bytes are whole records."""
        lines = data.rfind(b"\n") + 1
        joiner = self._decoder.make_joiner()
        if joiner is None or not lines:
            return lines
        parts = LineCutter(self._decoder.record_bytes_max).feed(data[:lines])
        ends = [record.end_byte for part in parts for record in joiner.join(part)]
        return ends[-1] if ends else 0
