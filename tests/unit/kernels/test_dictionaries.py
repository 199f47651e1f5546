"""Dictionaries that grow: what is remembered of their words is what would be found afresh."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.dictionaries import DictionaryRanks, Vocabulary, begins_with
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import canonical_rank, concat_arrays

STRINGS = pa.string()


def columns(seed: int, words_of_column: list[int], rows: int) -> list[pa.Array]:
    """Return columns of random words, of the first so many of all words each."""
    draw = random.Random(seed)
    words = [f"{draw.choice('abé中')}{number:x}" for number in range(max(words_of_column))]
    return [pa.array(draw.choices(words[:n], k=rows), STRINGS) for n in words_of_column]


def growing(words: list[str], sizes: list[int]) -> list[pa.DictionaryArray]:
    """Return columns with dictionaries of the first so many words; a row for each, backwards, and NULL."""
    return [
        pa.DictionaryArray.from_arrays(
            pa.array([*range(size - 1, -1, -1), None], pa.int32()), pa.array(words[:size], STRINGS)
        )
        for size in sizes
    ]


def test_begins_with() -> None:
    words = pa.array(["a", "b", "c"])
    assert [begins_with(words, words.slice(0, n)) for n in range(4)] == [True] * 4
    assert not begins_with(words.slice(0, 2), words)
    assert not begins_with(words, pa.array(["a", "c"]))
    assert not begins_with(words, pa.array(["a", "b", "d"]))


def test_a_vocabulary_encodes_and_grows() -> None:
    vocabulary = Vocabulary()
    known = pa.array([], STRINGS)
    sizes = []
    for strings in columns(1, [2000, 2100, 2000, 2300], 20_000):
        encoded = vocabulary.encode(strings)
        assert encoded.dictionary_decode().equals(strings)
        assert begins_with(encoded.dictionary, known)
        assert len(encoded.dictionary.unique()) == len(encoded.dictionary)
        known = encoded.dictionary
        sizes.append(len(known))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[1] < sizes[3]
    assert sizes[3] <= 2300


@pytest.mark.parametrize(
    "strings",
    [
        pa.array(["a", "b", None] * 3000),
        pa.array([], STRINGS),
        pa.array(["a", "b", "a"]),
        pa.array([f"new{number}" for number in range(9000)]),
        pa.array([f"new{number}" for number in range(3000)] * 3),
    ],
    ids=["with NULL", "empty", "short", "all different", "all new"],
)
def test_a_vocabulary_encodes_what_it_cannot_use(strings: pa.StringArray) -> None:
    vocabulary = Vocabulary()
    first, last = columns(2, [1500, 1500], 9000)
    for column in (first, strings, last):
        assert vocabulary.encode(column).dictionary_decode().equals(column)


def test_a_vocabulary_starts_again_before_it_is_too_large() -> None:
    vocabulary = Vocabulary()
    words = [f"{number:x}" for number in range(Vocabulary.VALUES_MAX * 2)]
    sizes = []
    for first in range(0, len(words), 20_000):
        some = words[first : first + 40_000]
        strings = pa.array(words[max(0, first - 20_000) : first] * 11 + some[:20_000], STRINGS)
        encoded = vocabulary.encode(strings)
        assert encoded.dictionary_decode().equals(strings)
        sizes.append(len(encoded.dictionary))
    assert max(sizes) <= Vocabulary.VALUES_MAX


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_those_found_afresh(seed: int) -> None:
    draw = random.Random(seed)
    ranks = DictionaryRanks()
    for _ in range(4):
        words = [draw.choice("abc") * draw.randint(0, 3) for _ in range(12)]
        for column in growing(words, sorted(draw.choices(range(13), k=4))):
            found = canonical_rank(column, ranks).tolist()
            values = column.to_pylist()
            order = sorted(set(values), key=lambda value: (value is None, value or ""))
            ranked = dict(zip(found, values, strict=True))
            assert [ranked[rank] for rank in sorted(ranked)] == order


@pytest.mark.parametrize("seed", range(20))
def test_slots_by_growing_dictionaries_are_those_of_values(seed: int) -> None:
    draw = random.Random(seed)
    table = SlotTable()
    slot_of: dict[str | None, int] = {}
    for turn in range(5):
        words = [draw.choice("abcdef") * draw.randint(0, 2) for _ in range(12)]
        for column in growing(words, sorted(draw.choices(range(13), k=4))):
            kept = column.filter(pa.array([draw.random() < 0.6 for _ in range(len(column))]))
            found = table.find([kept], len(kept))
            values = kept.to_pylist()
            new, rows = found.new()
            expected_new = {value for value in values if value not in slot_of}
            assert {values[row] for row in rows.tolist()} == expected_new
            assert found.any_new == bool(expected_new)
            for value, slot in zip(values, found.slots.tolist(), strict=True):
                assert slot_of.setdefault(value, slot) == slot
            assert sorted(slot_of[values[row]] for row in rows.tolist()) == sorted(new.tolist())
        if turn % 2:
            freed = [value for value in slot_of if draw.random() < 0.5]
            table.free(np.array([slot_of.pop(value) for value in freed], np.int64))
            table.recycle(table.take_retired())


def test_columns_of_one_growing_dictionary_share_the_longest() -> None:
    first, longest, last = growing(["b", "a", "c"], [1, 3, 2])
    whole = concat_arrays([first, longest, last])
    assert whole.dictionary.equals(longest.dictionary)
    assert whole.to_pylist() == [*first.to_pylist(), *longest.to_pylist(), *last.to_pylist()]
    (other,) = growing(["x", "a"], [2])
    assert concat_arrays([longest, other]).to_pylist() == [
        *longest.to_pylist(),
        *other.to_pylist(),
    ]


def test_dictionaries_that_are_concatenated_again_and_again_do_not_grow() -> None:
    words = [f"w{number}" for number in range(50)]
    left, right = growing(words[:25], [25])[0], growing(words[25:], [25])[0]
    column = concat_arrays([left, right])
    for _ in range(20):
        column = concat_arrays([column[:10], right[5:9], column[20:]])
        assert pa.types.is_dictionary(column.type)
        assert len(column.dictionary) <= len(words)
    expected = [*left.to_pylist(), *right.to_pylist()]
    for _ in range(20):
        expected = [*expected[:10], *right.to_pylist()[5:9], *expected[20:]]
    assert column.to_pylist() == expected
    assert column.type == left.type


def test_few_lists_over_large_dictionaries_are_put_together_without_one() -> None:
    lists = pa.array([[1, 2], [3], [], [7], [4, 5, 6]])
    first = pa.DictionaryArray.from_arrays(pa.array([1], pa.int32()), lists)
    second = pa.DictionaryArray.from_arrays(pa.array([4, None], pa.int32()), lists[::-1])
    assert concat_arrays([first, second]).to_pylist() == [[3], [1, 2], None]
