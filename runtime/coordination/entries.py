"""Entries whose values are JSON: decoding, and compare-and-set with the entry that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from fsql.runtime.coordination.port import (
    CoordinationUnavailableError,
    DamagedCoordinationError,
    EntryChangedError,
    EntryExistsError,
)

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination, Entry

_Value = TypeVar("_Value")

ATTEMPTS: Final = 16
"""How often compare-and-set is tried: other clients write rarely, and reads are stale only briefly."""


def decode(entry: Entry, kind: type[_Value]) -> _Value:
    """Return the value of an entry.

    Raises:
        DamagedCoordinationError: if it is not a `kind`.
    """
    try:
        return msgspec.json.decode(entry.value, type=kind)
    except msgspec.MsgspecError as error:
        raise DamagedCoordinationError(f'entry "{entry.key}" is not readable: {error}') from None


def get_value(coordination: Coordination, key: str, kind: type[_Value]) -> _Value | None:
    """Return the value under a key, None if there is no entry.

    Raises:
        DamagedCoordinationError: if it is not a `kind`.
    """
    entry = coordination.get(key)
    return None if entry is None else decode(entry, kind)


def try_write(
    coordination: Coordination, session: int, key: str, before: Entry | None, value: bytes
) -> bool:
    """Write if the entry under the key is still `before`; return whether it was."""
    try:
        if before is None:
            coordination.create(session, key, value)
        else:
            coordination.replace(session, key, value, before.version)
    except (EntryExistsError, EntryChangedError):
        return False
    return True


def contended(key: str) -> CoordinationUnavailableError:
    """Return the error for an entry that changed in each of `ATTEMPTS` attempts to write it."""
    return CoordinationUnavailableError(f'the entry "{key}" always changes')
