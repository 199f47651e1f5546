"""The values that the holder of the lease sets: the number of the epoch, and the newest snapshot.

Both only increase, and both are written under the session of the lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from fsql.runtime.coordination.entries import ATTEMPTS, contended, decode, try_write
from fsql.runtime.coordination.port import CoordinationError

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination, Entry

EPOCH: Final = "epoch"
SNAPSHOT: Final = "snapshot"
_NO_SNAPSHOT: Final = b"null"


class Committed(msgspec.Struct, frozen=True):
    """The newest snapshot: its number, the hash of its manifest, the epoch that made it."""

    snapshot: int
    hash: str
    epoch: int


class CommitRefusedError(CoordinationError):
    """A snapshot is not committed because another one with its number or a greater one is committed."""


def next_epoch(coordination: Coordination, session: int) -> int:
    """Return an epoch number that is greater than all that any process was given before.

    If no answer comes, a number may be lost; no number is returned twice.

    Raises:
        SessionExpiredError: if the session has ended.
    """
    for _ in range(ATTEMPTS):
        entry = coordination.get(EPOCH)
        epoch = 1 if entry is None else decode(entry, int) + 1
        if try_write(coordination, session, EPOCH, entry, msgspec.json.encode(epoch)):
            return epoch
    raise contended(EPOCH)


def read_committed(coordination: Coordination) -> Committed | None:
    """Return the newest snapshot as a possibly stale read shows it, None if there is none."""
    return _snapshot(coordination.get(SNAPSHOT))


def newest_committed(coordination: Coordination, session: int) -> Committed | None:
    """Return the newest snapshot, None if there is none.

    A read may be stale, so its result is written again: that succeeds only if there is nothing newer.

    Raises:
        SessionExpiredError: if the session has ended.
    """
    for _ in range(ATTEMPTS):
        entry = coordination.get(SNAPSHOT)
        value = _NO_SNAPSHOT if entry is None else entry.value
        if try_write(coordination, session, SNAPSHOT, entry, value):
            return _snapshot(entry)
    raise contended(SNAPSHOT)


def commit_snapshot(coordination: Coordination, session: int, new: Committed) -> None:
    """Make `new` the newest snapshot; the call can be repeated if no answer came.

    Raises:
        CommitRefusedError: if another snapshot with its number or a greater one is committed, or one of a
            later epoch.
        SessionExpiredError: if the session has ended.
    """
    for _ in range(ATTEMPTS):
        entry = coordination.get(SNAPSHOT)
        newest = _snapshot(entry)
        if newest == new:
            return
        if newest is not None and (newest.snapshot >= new.snapshot or newest.epoch > new.epoch):
            raise CommitRefusedError(
                f"snapshot {new.snapshot} of epoch {new.epoch} is not committed:"
                f" the newest is {newest.snapshot} of epoch {newest.epoch}"
            )
        if try_write(coordination, session, SNAPSHOT, entry, msgspec.json.encode(new)):
            return
    raise contended(SNAPSHOT)


def _snapshot(entry: Entry | None) -> Committed | None:
    """Return the snapshot in an entry, None before the first."""
    if entry is None or entry.value == _NO_SNAPSHOT:
        return None
    return decode(entry, Committed)
