"""Requests for a snapshot, by which other processes reach the coordinator of a job.

A request stays in coordination until it is answered, so it outlives a coordinator that fails.  There is at
most one: a newer one replaces an open one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.runtime.coordination.entries import ATTEMPTS, contended, decode, get_value, try_write
from fsql.runtime.coordination.port import EntryChangedError

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination

REQUEST: Final = "snapshot-request"
ANSWER: Final = "snapshot-answer"


class SnapshotRequest(msgspec.Struct, frozen=True):
    """A request for a snapshot; a `last` snapshot ends the run, and no row at or above it is released."""

    id: str
    last: bool


class SnapshotTaken(msgspec.Struct, frozen=True):
    """The snapshot that answers a request, and its position as time and origin."""

    id: str
    snapshot: int
    position: tuple[int, int]


def put_request(coordination: Coordination, session: int, request: SnapshotRequest) -> None:
    """Ask for a snapshot.

    Raises:
        CoordinationError: if the request cannot be written.
    """
    _put(coordination, session, REQUEST, request)


def withdraw_request(coordination: Coordination, session: int, request: SnapshotRequest) -> None:
    """Remove a request, unless another one has replaced it.

    Raises:
        CoordinationError: if it cannot be removed.
    """
    entry = coordination.get(REQUEST)
    if entry is not None and decode(entry, SnapshotRequest) == request:
        with suppress(EntryChangedError):
            coordination.delete(session, REQUEST, entry.version)


def open_request(coordination: Coordination) -> SnapshotRequest | None:
    """Return the request that is not answered yet, None if there is none."""
    request = get_value(coordination, REQUEST, SnapshotRequest)
    if request is None:
        return None
    answer = get_value(coordination, ANSWER, SnapshotTaken)
    return None if answer is not None and answer.id == request.id else request


def put_answer(coordination: Coordination, session: int, answer: SnapshotTaken) -> None:
    """Answer a request.

    Raises:
        CoordinationError: if the answer cannot be written.
    """
    _put(coordination, session, ANSWER, answer)


def newest_answer(coordination: Coordination) -> SnapshotTaken | None:
    """Return the newest answer, None if no request was answered yet."""
    return get_value(coordination, ANSWER, SnapshotTaken)


def _put(coordination: Coordination, session: int, key: str, content: msgspec.Struct) -> None:
    data = msgspec.json.encode(content)
    for _ in range(ATTEMPTS):
        if try_write(coordination, session, key, coordination.get(key), data):
            return
    raise contended(key)
