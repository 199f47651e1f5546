"""The values that the holder of the lease sets: the number of the epoch, and the newest snapshot.

Both only ever ascend, and both are written under the session of the lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from fsql.runtime.coordination.port import (
    CoordinationError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
    EntryChangedError,
    EntryExistsError,
)

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination, Entry

_Value = TypeVar("_Value")

EPOCH: Final = "epoch"
SNAPSHOT: Final = "snapshot"
_NO_SNAPSHOT: Final = b"null"
_ATTEMPTS: Final = 16
"""Other clients write rarely, and a read is stale for a short time only."""


class Committed(msgspec.Struct, frozen=True):
    """The newest snapshot: its number, the hash of its manifest, the epoch that made it."""

    snapshot: int
    hash: str
    epoch: int


class CommitRefusedError(CoordinationError):
    """A snapshot is not committed, because one of its number or a greater one is."""


def next_epoch(coordination: Coordination, session: int) -> int:
    """Return a number that is greater than all returned before, to any process.

    If no answer comes a number may be lost; it is not given twice.

    Raises:
        SessionExpiredError: if the session has ended.
    """
    for _ in range(_ATTEMPTS):
        entry = coordination.get(EPOCH)
        epoch = 1 if entry is None else _decoded(entry, int) + 1
        if _written(coordination, session, EPOCH, entry, msgspec.json.encode(epoch)):
            return epoch
    raise CoordinationUnavailableError(f'the entry "{EPOCH}" always changes')


def committed(coordination: Coordination) -> Committed | None:
    """Return a snapshot that was the newest a while ago, None if there was none."""
    return _snapshot(coordination.get(SNAPSHOT))


def newest_committed(coordination: Coordination, session: int) -> Committed | None:
    """Return the newest snapshot, None if there is none.

    What is read may be old, so it is written again: that succeeds only if nothing is newer.

    Raises:
        SessionExpiredError: if the session has ended.
    """
    for _ in range(_ATTEMPTS):
        entry = coordination.get(SNAPSHOT)
        value = _NO_SNAPSHOT if entry is None else entry.value
        if _written(coordination, session, SNAPSHOT, entry, value):
            return _snapshot(entry)
    raise CoordinationUnavailableError(f'the entry "{SNAPSHOT}" always changes')


def commit_snapshot(coordination: Coordination, session: int, new: Committed) -> None:
    """Make `new` the newest snapshot; the call can be repeated if no answer came.

    Raises:
        CommitRefusedError: if another one as new, or newer, is committed, or one of a later epoch.
        SessionExpiredError: if the session has ended.
    """
    for _ in range(_ATTEMPTS):
        entry = coordination.get(SNAPSHOT)
        newest = _snapshot(entry)
        if newest == new:
            return
        if newest is not None and (newest.snapshot >= new.snapshot or newest.epoch > new.epoch):
            raise CommitRefusedError(
                f"snapshot {new.snapshot} of epoch {new.epoch} is not committed:"
                f" the newest is {newest.snapshot} of epoch {newest.epoch}"
            )
        if _written(coordination, session, SNAPSHOT, entry, msgspec.json.encode(new)):
            return
    raise CoordinationUnavailableError(f'the entry "{SNAPSHOT}" always changes')


def _written(
    coordination: Coordination, session: int, key: str, before: Entry | None, value: bytes
) -> bool:
    """Replace the entry that was read; return whether it was unchanged."""
    try:
        if before is None:
            coordination.create(session, key, value)
        else:
            coordination.replace(session, key, value, before.version)
    except (EntryExistsError, EntryChangedError):
        return False
    return True


def _snapshot(entry: Entry | None) -> Committed | None:
    """Return what the entry of snapshots holds: nothing before the first."""
    if entry is None or entry.value == _NO_SNAPSHOT:
        return None
    return _decoded(entry, Committed)


def _decoded(entry: Entry, kind: type[_Value]) -> _Value:
    try:
        return msgspec.json.decode(entry.value, type=kind)
    except msgspec.MsgspecError as error:
        raise DamagedCoordinationError(f'entry "{entry.key}" is not readable: {error}') from None
