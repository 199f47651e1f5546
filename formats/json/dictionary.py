"""Dictionaries of strings as pieces, formatted once and reused while batches repeat the dictionary.

A column with a dictionary has few values in many rows.  Each value becomes one piece, including the text of
the frame on both sides, so a row costs one piece instead of three.  `Use` says how a dictionary is used.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from fsql.formats.json.literals import escape
from fsql.runtime.arrow_types import string_buffers
from fsql.runtime.dictionaries import begins_with

if TYPE_CHECKING:
    from collections.abc import Hashable

Identity: TypeAlias = "Hashable"

_NONE: Final = pa.array([], pa.string())
_BYTES_MAX: Final = 1 << 27
"""A dictionary with more data than this is never formatted as a whole."""


class Use(enum.Enum):
    """How to use a dictionary, by ascending cost per value."""

    LOOK_UP = "write the values of the rows; the dictionary is far larger than the batch"
    PLAIN = (
        "make its values pieces as they are; it is new, and most of its values occur once or twice"
    )
    FRAMED = "make pieces of its values and the frame around them"


class FormattedDictionary(NamedTuple):
    """A formatted dictionary: its pieces, their total and maximum lengths, and their source."""

    pieces: pa.StringArray
    bytes: int
    length_max: int
    source: tuple[Identity, str, str]


class DictionaryMemory:
    """The formatted last dictionary of one column.

    A reference to the dictionary is kept, so that its memory is not reused: then arrays with buffers at the
    same addresses are equal, because arrays are immutable.  If the dictionary has grown, only the new values
    are formatted.
    """

    def __init__(self) -> None:
        self._dictionary = _NONE
        self._identity = _identity(_NONE)
        self._format_strings = _NONE
        self._shared: FormattedDictionary | None = None

    def use(self, dictionary: pa.StringArray, rows: int, *, alone: bool) -> Use:
        """Return how to use the dictionary of a batch of `rows` rows, and keep it.

        `alone` says that no column of the batch needs its own pieces.  Then the pieces of all columns are the
        same from batch to batch, and repeating a large dictionary costs nothing.
        """
        identity = _identity(dictionary)
        same = identity == self._identity
        known = same or _mostly(self._dictionary, dictionary)
        self._dictionary, self._identity = dictionary, identity
        if len(dictionary) > 4 * rows and not (same and alone):
            return Use.LOOK_UP
        if string_buffers(dictionary)[1].size > _BYTES_MAX:
            return Use.LOOK_UP
        return Use.FRAMED if known or 2 * len(dictionary) <= rows else Use.PLAIN

    def format(self, before: str, after: str) -> FormattedDictionary:
        """Return the dictionary of the last call of `use`, formatted, with the texts around its values."""
        source = (self._identity, before, after)
        if self._shared is None or self._shared.source != source:
            pieces = self._pieces(self._shared, before, after)
            self._format_strings = self._dictionary
            lengths = np.diff(string_buffers(pieces)[0])
            self._shared = FormattedDictionary(
                pieces, int(lengths.sum()), int(lengths.max(initial=0)), source
            )
        return self._shared

    def _pieces(
        self, earlier: FormattedDictionary | None, before: str, after: str
    ) -> pa.StringArray:
        dictionary = self._dictionary
        if (
            earlier is None
            or earlier.source[1:] != (before, after)
            or not begins_with(dictionary, self._format_strings)
        ):
            return _format_strings(dictionary, before, after)
        new = dictionary.slice(len(self._format_strings))
        return pa.concat_arrays([earlier.pieces, _format_strings(new, before, after)])


def _mostly(known: pa.StringArray, dictionary: pa.StringArray) -> bool:
    """Return whether `dictionary` is `known` followed by fewer new values."""
    return 2 * len(known) > len(dictionary) and begins_with(dictionary, known)


def _identity(array: pa.StringArray) -> Identity:
    buffers = [(buffer.address, buffer.size) if buffer else None for buffer in array.buffers()]
    return (array.offset, len(array), *buffers)


def _format_strings(text: pa.StringArray, before: str, after: str) -> pa.StringArray:
    """Return every string escaped for JSON, with the texts around it."""
    escaped = escape(text)
    return _enclose(escaped, before, after) if before or after else escaped


def _enclose(text: pa.StringArray, before: str, after: str) -> pa.StringArray:
    """Return every string with `before` in front of it and `after` after it."""
    indexes = np.empty((len(text), 3), np.int32)
    indexes[:, 0] = len(text)
    indexes[:, 1] = np.arange(len(text))
    indexes[:, 2] = len(text) + 1
    pieces = pa.concat_arrays([text, pa.array([before, after], pa.string())])
    written = pieces.take(pa.array(indexes.reshape(-1)))
    offsets, _ = string_buffers(written)
    return pa.StringArray.from_buffers(
        len(text), pa.py_buffer(offsets[::3].copy()), written.buffers()[2]
    )
