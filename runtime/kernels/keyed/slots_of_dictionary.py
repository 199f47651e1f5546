"""The slots of the values of a dictionary, kept from batch to batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.runtime.dictionaries import begins_with
from fsql.runtime.kernels.keyed.integer_keys import NO_SLOT

if TYPE_CHECKING:
    import pyarrow as pa

    from fsql.runtime.arrays import Ints


DICTIONARIES: Final = 8
"""The maximum number of known dictionaries, each of another sender of rows."""


class _Known:
    """A dictionary, and the slot of each of its values, and of NULL after them."""

    __slots__ = ("dictionary", "slots")

    def __init__(self, dictionary: pa.StringArray) -> None:
        self.dictionary = dictionary
        self.slots = np.full(len(dictionary) + 1, NO_SLOT)

    def extend(self, dictionary: pa.StringArray) -> None:
        """Know a dictionary that begins with the known one."""
        count = len(self.dictionary)
        if count < len(dictionary):
            slots = np.full(len(dictionary) + 1, NO_SLOT)
            slots[:count], slots[-1] = self.slots[:-1], self.slots[-1]
            self.dictionary, self.slots = dictionary, slots


class SlotsOfDictionary:
    """The known slots of the values of dictionaries of keys.

    Rows of one sender have dictionaries of which each begins with the one before; those of several senders
    come in turn.
    """

    def __init__(self) -> None:
        self._known: list[_Known] = []
        """The last used one first."""

    def of(self, dictionary: pa.StringArray) -> Ints:
        """Return the slot of each value, and of NULL after them; the caller replaces NO_SLOT."""
        for number, known in enumerate(self._known):
            if begins_with(dictionary, known.dictionary):
                known.extend(dictionary)
                if number:
                    self._known.insert(0, self._known.pop(number))
                return known.slots
        self._known = [_Known(dictionary), *self._known[: DICTIONARIES - 1]]
        return self._known[0].slots

    def remove(self, slots: Ints) -> None:
        """Remove the entries of some slots."""
        for known in self._known:
            known.slots[np.isin(known.slots, slots)] = NO_SLOT
