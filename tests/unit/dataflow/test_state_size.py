"""The estimate of how many bytes a state takes."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fsql.runtime.dataflow.metrics import OperatorMetrics
from fsql.runtime.dataflow.state_size import state_bytes


def test_arrays_have_their_bytes() -> None:
    assert state_bytes(np.zeros(1000)) == 8_000
    assert state_bytes(pa.array([1, 2, 3])) == 24
    assert state_bytes(pa.array(["ab", "c"])) == 2 * 4 + 3
    assert state_bytes(pa.array(range(1000)).slice(0, 10)) == 80


def test_what_is_referred_to_twice_counts_once() -> None:
    array = np.zeros(1000)
    assert state_bytes([array, array]) == sys.getsizeof([array, array]) + 8_000


def test_the_elements_of_a_large_container_are_taken_to_be_alike() -> None:
    keys = {f"key {number:06}": number for number in range(100_000)}
    each = sys.getsizeof("key 000000") + sys.getsizeof(1)
    assert abs(state_bytes(keys) - sys.getsizeof(keys) - 100_000 * each) < 100_000 * 4


@dataclass
class Foreign:
    """An object that is not of the runtime."""

    array: np.ndarray


def test_only_objects_of_the_runtime_are_followed() -> None:
    assert state_bytes(OperatorMetrics(0.5, 2)) == sys.getsizeof(0.5) + sys.getsizeof(2)
    assert state_bytes(Foreign(np.zeros(1000))) == 0
