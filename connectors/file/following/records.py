"""Finds the complete records at the beginning of bytes: the part of a growing file that can be read."""

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
"""With these, the kept part of a line exceeds the maximum of a record, whatever its terminator."""


class WholeRecords:
    """Finds the ends of records of one format."""

    def __init__(self, decoder: Callable[[], LineDecoder]) -> None:
        self._decoder = decoder()
        longest = max(self._decoder.record_bytes_max, EXCERPT_BYTES) + _SLACK_BYTES
        self.kept_bytes = longest
        """The number of bytes that are kept of a line that is longer than the maximum of a record."""
        self.block_bytes = max(_BLOCK_BYTES, 2 * longest)
        """This many bytes contain a complete record, or begin with a line that is too long."""

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
        """Return the length of the complete records at the beginning of `data`."""
        lines = data.rfind(b"\n") + 1
        joiner = self._decoder.make_joiner()
        if joiner is None or not lines:
            return lines
        parts = LineCutter(self._decoder.record_bytes_max).feed(data[:lines])
        ends = [record.end_byte for part in parts for record in joiner.join(part)]
        return ends[-1] if ends else 0
