"""Files of lines in other encodings than UTF-8: their bytes as UTF-8, and where each is in its file.

A file is always read from its beginning, as a compressed one is, because offsets of readers count bytes of
UTF-8.  Places in messages are those of the file.  What is not valid in the encoding becomes a byte that is
not valid in UTF-8, so its record is malformed.
"""

from __future__ import annotations

import codecs
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fsql.connectors.streams.replay import not_replayable
from fsql.formats.malformed import NOT_UTF8

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.connectors.live.places import PlacedT
    from fsql.connectors.streams.blocks import Blocks
    from fsql.runtime.ports import SourceOffset

_INVALID: Final = "\udcff"
_BIG: Final = codecs.BOM_UTF16_BE


def _replace_invalid(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _INVALID, error.end


codecs.register_error("fsql.invalid", _replace_invalid)


class _Read(NamedTuple):
    """A text that was read: where it begins as UTF-8, where in the file, and its bytes as UTF-8."""

    text: int
    file: int
    data: bytes


class EncodedBlocks:
    """The bytes of a file as UTF-8, from an offset of them on; also the places of its rows.

    `identity` identifies the whole file, which is not expected to grow.
    """

    def __init__(self, inner: Blocks, path: Path, encoding: str, identity: str) -> None:
        """Take the blocks of the file from its beginning."""
        self._inner = inner
        self._path = path
        self._encoding = encoding
        self._identity = identity
        self._unit = 2 if encoding.startswith("utf-16") else 1
        self._decoder: codecs.IncrementalDecoder | None = None
        self._start = b""
        self._rest = b""
        """What is left of the last text after the bytes that were passed over."""
        self._read: deque[_Read] = deque([_Read(0, 0, b"")])

    def skip(self, source_offset: SourceOffset) -> None:
        """Pass over the bytes before a source offset.

        Raises:
            FsqlError: E535, if the file cannot be read; E536, if it ends before.
        """
        while self._end() < source_offset.byte:
            if not self.read():
                raise not_replayable(self._path, source_offset, "it ends before that")
        last = self._read[-1]
        self._rest = last.data[source_offset.byte - last.text :]

    def read(self) -> bytes:
        """Return the next bytes, b"" at the end.

        Raises:
            FsqlError: E535, if the file cannot be read.
        """
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        while True:
            raw = self._inner.read()
            assert isinstance(raw, bytes), "files at rest have no bounds"
            text = self._decode(raw).encode("utf-8", "surrogateescape")
            if text:
                last = self._read[-1]
                file = last.file + self._length(last.data)
                self._read.append(_Read(self._end(), file, text))
            if text or not raw:
                return text

    def content_before(self, byte: int) -> str:
        """Return the identity of the whole file."""
        del byte
        return self._identity

    def bytes_passed(self, byte: int) -> int:
        """Return how many bytes of the file have been read."""
        return self._inner.bytes_passed(self._file_byte(byte))

    def bytes_lost(self, byte: int) -> int:
        """Return 0: a file can be read again."""
        del byte
        return 0

    def close(self) -> None:
        """Close the file."""
        self._inner.close()

    def locate(self, rows: list[PlacedT], end: int) -> list[PlacedT]:
        """Return rows with the byte in the file in place of that of the UTF-8."""
        del end
        return [self._located(row) for row in rows]

    def forget(self, end: int) -> None:
        """Forget the places before byte `end` of the UTF-8."""
        while len(self._read) > 1 and self._read[1].text <= end:
            self._read.popleft()

    def _located(self, row: PlacedT) -> PlacedT:
        changes: dict[str, Any] = {"byte": self._file_byte(row.byte)}
        if getattr(row, "code", 0) == NOT_UTF8:
            changes["reason"] = f"the record is not {self._encoding}"
        return replace(row, **changes)

    def _end(self) -> int:
        last = self._read[-1]
        return last.text + len(last.data)

    def _file_byte(self, byte: int) -> int:
        block = next((each for each in reversed(self._read) if each.text <= byte), self._read[0])
        return block.file + self._length(block.data[: max(byte - block.text, 0)])

    def _length(self, text: bytes) -> int:
        """Return how many bytes of the file a text is that is given as UTF-8."""
        octets = np.frombuffer(text, np.uint8)
        first = (octets & 0xC0) != 0x80
        count = int(np.count_nonzero(first))
        if self._unit == 1:
            return count
        pairs = (octets >= 0xF0) & (octets < 0xF8)
        return self._unit * (count + int(np.count_nonzero(pairs)))

    def _decode(self, raw: bytes) -> str:
        final = not raw
        if self._decoder is None:
            self._start += raw
            if not final and len(self._start) < len(_BIG):
                return ""
            raw, self._start = self._start, b""
            self._decoder = self._make_decoder(raw)
        return self._decoder.decode(raw, final)

    def _make_decoder(self, start: bytes) -> codecs.IncrementalDecoder:
        """Return the decoder; UTF-16 without a byte order mark is little-endian."""
        name = self._encoding
        if name == "utf-16":
            name = "utf-16be" if start.startswith(_BIG) else "utf-16le"
        return codecs.getincrementaldecoder(name)("fsql.invalid")
