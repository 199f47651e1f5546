"""Dictionaries that only grow, and what is cached about them.

Text repeats words.  A `Vocabulary` gives the columns of a stream dictionaries each of which begins with the
previous one, so that cached data of a word (its slot, its rank) has to be computed for new words only.  This
is not guaranteed: code that caches data compares the dictionaries first, which costs a comparison of memory,
and otherwise starts from the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints


_NONE: Final = pa.array([], pa.string())
_SAMPLE_ROWS: Final = 512
ROWS_TO_SAMPLE: Final = 4 * _SAMPLE_ROWS
"""In shorter columns there is little to gain."""


def decode_dictionary(array: pa.Array) -> pa.Array:
    """Return the column without its dictionary, if it has one."""
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary.take(array.indices)
    return array


def repeat_often(texts: pa.StringArray) -> bool:
    """Return whether texts seem to repeat so often that a dictionary is faster than the texts.

    This is decided by a sample: with 4,000 values in 65,536 rows, a sixteenth of the sample are repetitions.
    """
    if len(texts) < ROWS_TO_SAMPLE:
        return False
    sample = texts.take(pa.array(np.arange(0, len(texts), len(texts) // _SAMPLE_ROWS)))
    return len(sample.unique()) * 16 <= len(sample) * 15


def begins_with(dictionary: pa.Array, known: pa.Array) -> bool:
    """Return whether the values of `dictionary` begin with those of `known`."""
    if len(known) == len(dictionary):
        return bool(known.equals(dictionary))
    return len(known) < len(dictionary) and bool(dictionary.slice(0, len(known)).equals(known))


class Vocabulary:
    """Encodes columns of strings with dictionaries that begin with the previous one, where that is faster.

    It is faster if columns share most of their words, and have many rows for each word.
    """

    VALUES_MIN: Final = 1024
    """Dictionaries with fewer words are not kept."""
    VALUES_MAX: Final = 1 << 17
    ROWS_PER_VALUE: Final = 2
    """How many rows a column must have for each known word: all known words are hashed for each column."""

    def __init__(self) -> None:
        self._known = _NONE

    def encode(self, strings: pa.StringArray) -> pa.DictionaryArray:
        """Return the same strings with a dictionary in which each value occurs once."""
        return self._extend(strings) or self._encode_new(strings)

    def _extend(self, strings: pa.StringArray) -> pa.DictionaryArray | None:
        """Encode with the known words, followed by new ones; None if that is not faster."""
        known = self._known
        if len(known) == 0 or strings.null_count:
            return None
        if len(strings) < self.ROWS_PER_VALUE * len(known):
            return None
        codes = pc.index_in(strings, value_set=known)
        if codes.null_count:
            missing = np.flatnonzero(codes.is_null().to_numpy(zero_copy_only=False))
            new = strings.take(pa.array(missing)).dictionary_encode()
            if (
                4 * len(missing) > len(strings)
                or len(known) + len(new.dictionary) > self.VALUES_MAX
            ):
                return None
            filled = codes.fill_null(0).to_numpy().copy()
            filled[missing] = new.indices.to_numpy() + len(known)
            codes = pa.array(filled)
            self._known = pa.concat_arrays([known, new.dictionary])
        return pa.DictionaryArray.from_arrays(codes, self._known, safe=False)

    def _encode_new(self, strings: pa.StringArray) -> pa.DictionaryArray:
        encoded = strings.dictionary_encode()
        words = len(encoded.dictionary)
        if words >= self.VALUES_MIN and self.ROWS_PER_VALUE * words <= len(strings):
            self._known = encoded.dictionary
        return encoded


class DictionaryRanks:
    """The canonical ranks of the values of the last dictionary."""

    def __init__(self) -> None:
        self._known = _NONE
        self._order = np.empty(0, np.int64)
        self._ranks = np.zeros(1, np.int64)

    def of(self, dictionary: pa.StringArray) -> Ints:
        """Return the rank of each value, equal ones equal, and after them the rank of NULL."""
        if not begins_with(dictionary, self._known):
            self._order = np.empty(0, np.int64)
        if len(self._order) < len(dictionary):
            self._order = self._sort(dictionary)
            self._ranks = _ranks(dictionary, self._order)
            self._known = dictionary
        return self._ranks

    def _sort(self, dictionary: pa.StringArray) -> Ints:
        if len(self._order) == 0:
            return pc.array_sort_indices(dictionary).to_numpy().astype(np.int64)
        # Values that are mostly in order are sorted several times as fast.
        nearly = np.append(self._order, np.arange(len(self._order), len(dictionary)))
        order = pc.array_sort_indices(dictionary.take(pa.array(nearly))).to_numpy()
        return nearly[order]


def _ranks(dictionary: pa.StringArray, order: Ints) -> Ints:
    ordered = dictionary.take(pa.array(order))
    steps = np.ones(len(order), np.int64)
    if len(order) > 1:
        same = pc.equal(ordered.slice(1), ordered.slice(0, len(order) - 1))
        steps[1:] = ~same.to_numpy(zero_copy_only=False)
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.cumsum(steps)
    ranks[len(order)] = len(order) + 1
    return ranks
