"""The input of the benchmarks: files of lines of words by Zipf's law, the same on every machine.

The rank of each word is drawn from a fixed seed over 100,000 words with weights 1/rank, the ranks are spread
over the words by a fixed shuffle.  Documents have log-normal lengths with mean 300, lines 300 words each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

VOCABULARY: Final = 100_000
WORDS_PER_LINE: Final = 300
_SIGMA: Final = 0.8
_WORDS_AT_ONCE: Final = 1_000_000


def write_documents(path: Path, documents: int) -> int:
    """Write `id<TAB>words` for each document; return how many words there are."""
    random = np.random.default_rng(1)
    middle = np.log(WORDS_PER_LINE) - _SIGMA**2 / 2
    lengths = np.maximum(1, random.lognormal(middle, _SIGMA, documents).astype(np.int64))
    return _write(path, lengths, random, numbered=True)


def write_lines(path: Path, lines: int) -> int:
    """Write lines of 300 words; return how many words there are."""
    lengths = np.full(lines, WORDS_PER_LINE)
    return _write(path, lengths, np.random.default_rng(3), numbered=False)


def _write(
    path: Path, lengths: NDArray[np.int64], random: np.random.Generator, *, numbered: bool
) -> int:
    weights = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    spread = np.random.default_rng(7).permutation(VOCABULARY)
    words = np.array([f"w{number:05d}" for number in range(VOCABULARY)])
    ends = np.cumsum(lengths)
    step = max(1, _WORDS_AT_ONCE * len(lengths) // max(1, int(ends[-1])))
    with path.open("w", encoding="ascii") as file:
        for first in range(0, len(lengths), step):
            some = lengths[first : first + step]
            ranks = np.searchsorted(weights, random.random(int(some.sum())) * weights[-1])
            drawn = words[spread[ranks]]
            stops = np.cumsum(some).tolist()
            for number, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
                head = f"{first + number}\t" if numbered else ""
                file.write(head + " ".join(drawn[start:stop]) + "\n")
    return int(ends[-1])
