"""The types of NumPy arrays: whole columns of numbers, of marks and of bytes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
"""Positions, slots, weights, indexes of rows."""
Bools: TypeAlias = NDArray[np.bool_]
Octets: TypeAlias = NDArray[np.uint8]
Doubles: TypeAlias = NDArray[np.float64]
