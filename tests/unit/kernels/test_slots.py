"""Slots of a few rows, found one by one, against those of many: the same rows have the same keys.

Cannot catch what both get wrong; the reference oracle judges what keys are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from fsql.compiler.sqltypes import Kind, SqlType
from fsql.runtime.arrow_types import arrow_type, to_arrow
from fsql.runtime.kernels.keyed.integer_keys import NO_SLOT
from fsql.runtime.kernels.keyed.slots import DICTIONARIES, SlotsOfDictionary, SlotTable
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.naive_json import TYPES, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DataObject

    from fsql.compiler.expression import Value


def comes_back(sql_type: SqlType) -> bool:
    """Say whether every key of the type fits what Python has for it: not so times beside NULL types."""
    has_times = sql_type.contains(Kind.INTERVAL, Kind.TIMESTAMP)
    return not (has_times and sql_type.contains(Kind.NULL))


def key_column(data: DataObject, column: Sequence[Value], sql_type: SqlType) -> pa.Array:
    """Return a key column, of strings perhaps as a dictionary with a word more."""
    array = to_arrow(column, sql_type)
    if sql_type.kind is Kind.STRING and data.draw(st.booleans()):
        array = to_arrow(["unused", *column], sql_type).dictionary_encode().slice(1)
    return array


@pytest.mark.slow
@drawn(50, st.data(), st.lists(TYPES.filter(comes_back), min_size=1, max_size=3))
def test_few_rows_are_found_as_many_are(data: DataObject, types: list[SqlType]) -> None:
    one_by_one, by_columns = SlotTable(few_rows=100), SlotTable(few_rows=0)
    arrow_types = [arrow_type(sql_type) for sql_type in types]
    counterparts: dict[int, int] = {}
    for _ in range(3):
        rows = data.draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=8))
        columns = [
            key_column(data, column, sql_type)
            for column, sql_type in zip(zip(*rows, strict=True), types, strict=True)
        ]
        few = one_by_one.find(columns, len(rows))
        many = by_columns.find(columns, len(rows))
        assert few.any_new == many.any_new
        for slot, counterpart in zip(few.slots.tolist(), many.slots.tolist(), strict=True):
            assert counterparts.setdefault(slot, counterpart) == counterpart
        assert len(set(counterparts.values())) == len(counterparts)
        assert {counterparts[slot] for slot in few.new()[0].tolist()} == set(many.new()[0].tolist())
        assert few.slots[few.new()[1]].tolist() == few.new()[0].tolist()
        texts = [
            [str(column) for column in table.keys(found.slots, arrow_types)]
            for table, found in ((one_by_one, few), (by_columns, many))
        ]
        assert texts[0] == texts[1]


def test_dictionaries_of_several_senders_are_known_in_turn() -> None:
    known = SlotsOfDictionary()
    one, other = (pa.array([f"{sender}{word}" for word in range(9)]) for sender in "ab")
    known.of(one.slice(0, 5))[:] = range(6)
    known.of(other)[:] = range(10, 20)
    assert known.of(one).tolist() == [0, 1, 2, 3, 4, *[NO_SLOT] * 4, 5]
    known.remove(np.array([2, 11]))
    assert known.of(other).tolist() == [10, NO_SLOT, *range(12, 20)]
    assert known.of(one).tolist() == [0, 1, NO_SLOT, 3, 4, *[NO_SLOT] * 4, 5]


def test_the_dictionary_that_was_used_last_of_all_is_forgotten() -> None:
    known = SlotsOfDictionary()
    many = [pa.array([str(number)]) for number in range(DICTIONARIES + 1)]
    for number, dictionary in enumerate(many):
        known.of(dictionary)[0] = number
        known.of(many[0])
    assert known.of(many[0]).tolist() == [0, NO_SLOT]
    assert known.of(many[1]).tolist() == [NO_SLOT, NO_SLOT]
