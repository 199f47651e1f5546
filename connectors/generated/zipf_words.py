"""Words by Zipf's law: the text that generators write, as a function of numbers.

The probability of the word of rank r (from 0) is proportional to 1 / (r + 1).  A word depends on a 64-bit
hash of its position only, so any part of the text can be generated separately, and is the same in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

_SLOT_BITS: Final = 20
_REST_BITS: Final = 24
_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_VOWELS: Final = "aeiou"
_SYLLABLES: Final = np.array(
    [[ord(consonant), ord(vowel)] for consonant in _CONSONANTS for vowel in _VOWELS], np.uint8
)


def mix(numbers: Hashes) -> Hashes:
    """Mix the bits of numbers (the finalizer of SplitMix64): each bit of a result depends on all bits."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


class ZipfWords:
    """The words of a vocabulary: their texts, and their ranks by hash."""

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        cumulative = np.cumsum(1.0 / np.arange(1, vocabulary + 1))
        # Slot i of the table is for probabilities from i / 2**20 to (i + 1) / 2**20, and has the first
        # of their ranks; if there are several, they are nearly equally likely.
        bounds = np.ceil(cumulative * ((1 << _SLOT_BITS) / cumulative[-1])).astype(np.int64)
        bounds[-1] = (1 << _SLOT_BITS) + 1
        ranks = np.repeat(np.arange(vocabulary), np.diff(bounds, prepend=0))
        self._first = ranks[:-1].astype(np.int32)
        self._several = np.diff(ranks).astype(np.int32) + 1 if vocabulary > 1 << 12 else None

    def ranks(self, hashes: Hashes) -> NDArray[np.int32]:
        """Return the rank of the word that each hash selects."""
        slots = (hashes >> np.uint64(64 - _SLOT_BITS)).view(np.int64)
        ranks: NDArray[np.int32] = self._first[slots]
        if self._several is not None:
            rest = hashes.view(np.int64) & ((1 << _REST_BITS) - 1)
            ranks += (self._several[slots] * rest >> _REST_BITS).astype(np.int32)
        return ranks

    def words(self) -> pa.StringArray:
        """Return the words by rank: distinct sequences of syllables, shorter for more frequent words."""
        data, lengths = [], []
        first, syllables = 0, 1
        while first < self.vocabulary:
            numbers = np.arange(min(len(_SYLLABLES) ** syllables, self.vocabulary - first))
            powers = len(_SYLLABLES) ** np.arange(syllables)[::-1]
            digits = numbers[:, None] // powers % len(_SYLLABLES)
            data.append(_SYLLABLES[digits].reshape(-1))
            lengths.append(np.full(len(numbers), 2 * syllables))
            first, syllables = first + len(numbers), syllables + 1
        offsets = np.append(0, np.cumsum(np.concatenate(lengths))).astype(np.int32)
        return pa.StringArray.from_buffers(
            self.vocabulary, pa.py_buffer(offsets), pa.py_buffer(np.concatenate(data))
        )
