"""The first rows of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.connectors.context import OutputStream


class PreviewEndedError(Exception):
    """The requested number of rows has been shown."""


class Preview:
    """A stream that forwards the first lines and then ends the run."""

    def __init__(self, stream: OutputStream, rows_max: int) -> None:
        self._stream = stream
        self._rows_max = rows_max
        self.rows = 0

    def write(self, data: memoryview) -> None:
        """Write complete lines, up to the last requested one.

        Raises:
            PreviewEndedError: if that has been written.
        """
        lines = bytes(data).splitlines(keepends=True)[: self._rows_max - self.rows]
        self.rows += len(lines)
        self._stream.write(memoryview(b"".join(lines)))
        if self.rows >= self._rows_max:
            self._stream.flush()
            raise PreviewEndedError

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()
