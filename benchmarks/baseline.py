"""What plain Arrow and NumPy need for the same result as a batch: no order to keep, no labels, no text.

The figures of a benchmark are divided by these, taken in the same run on the same core.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.arrays import Ints


def seconds_of(batch: Callable[[Path], object], path: Path) -> float:
    """Return how long the batch takes, the second time."""
    batch(path)
    started = time.perf_counter()
    batch(path)
    return time.perf_counter() - started


def inverted_index(path: Path) -> tuple[pa.Array, Ints, pa.Array, Ints]:
    """Return word, document, positions and previous documents of each change, by word and document."""
    texts = pc.list_element(pc.split_pattern(_lines(path), "\t"), 1)
    codes, document, index, words = _words(texts)
    order = np.lexsort((document, codes))
    codes, document = codes[order], document[order]
    starts = _starts(codes, document)
    offsets = pa.array(np.append(starts, len(order)).astype(np.int32))
    positions = pa.ListArray.from_arrays(offsets, pa.array(index[order] + 1))
    return words.take(pa.array(codes[starts])), document[starts], positions, _rank(codes[starts])


def word_count(path: Path) -> tuple[pa.Array, Ints]:
    """Return word and count of each change, by word and line."""
    codes, line, _, words = _words(_lines(path))
    order = np.lexsort((line, codes))
    codes, line = codes[order], line[order]
    last = np.append(_starts(codes, line)[1:], len(codes)) - 1
    return words.take(pa.array(codes[last])), _rank(codes)[last] + 1


def _lines(path: Path) -> pa.Array:
    text = pa.array([path.read_text(encoding="ascii")[:-1]])
    return pc.split_pattern(text, "\n").flatten()


def _words(texts: pa.Array) -> tuple[Ints, Ints, Ints, pa.Array]:
    """Return code, text number and index in the text of each word, and the words by code."""
    lists = pc.split_pattern(texts, " ")
    encoded = lists.flatten().dictionary_encode()
    lengths = pc.list_value_length(lists).to_numpy()
    text = np.repeat(np.arange(len(lengths)), lengths)
    index = np.arange(len(text)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return encoded.indices.to_numpy().astype(np.int64), text, index, encoded.dictionary


def _starts(*columns: Ints) -> Ints:
    changed = np.ones(len(columns[0]), np.bool_)
    changed[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(changed)


def _rank(codes: Ints) -> Ints:
    """Return how many equal codes stand before each, in sorted codes."""
    starts = _starts(codes)
    return np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
