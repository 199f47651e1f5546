"""The slots of the values of a dictionary, kept from batch to batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.dictionaries import begins_with
from fsql.runtime.kernels.keyed.integer_keys import NO_SLOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


class SlotsOfDictionary:
    """The known slots of the values of the last dictionary of keys."""

    def __init__(self) -> None:
        self._known: pa.Array = pa.array([], pa.string())
        self._slots = np.full(1, NO_SLOT)

    def of(self, dictionary: pa.StringArray) -> Ints:
        """Return the slot of each value, and of NULL after them; the caller replaces NO_SLOT."""
        if not begins_with(dictionary, self._known):
            self.forget()
        count = len(self._known)
        if count < len(dictionary):
            slots = np.full(len(dictionary) + 1, NO_SLOT)
            slots[:count] = self._slots[:-1]
            slots[-1] = self._slots[-1]
            self._known, self._slots = dictionary, slots
        return self._slots

    def remove(self, slots: Ints) -> None:
        """Remove the entries of some slots."""
        self._slots[np.isin(self._slots, slots)] = NO_SLOT

    def forget(self) -> None:
        """Remove all entries."""
        self._known = self._known.slice(0, 0)
        self._slots = np.full(1, NO_SLOT)
