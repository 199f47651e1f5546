"""Requests for a snapshot, by which other processes reach the coordinator of a job.

A request stays in coordination until it is answered, so it outlives a coordinator that fails.  There is at
most one: a newer one replaces one that is not answered yet.
"""

from __future__ import annotations

from contextlib import suppress
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

REQUEST: Final = "snapshot-request"
ANSWER: Final = "snapshot-answer"
_ATTEMPTS: Final = 16


class SnapshotRequest(msgspec.Struct, frozen=True):
    """A request for a snapshot; the `last` one ends the run, and nothing at or above it is released."""

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
    """Remove a request, unless another one has taken its place.

    Raises:
        CoordinationError: if it cannot be removed.
    """
    entry = coordination.get(REQUEST)
    if entry is not None and _decoded(entry, SnapshotRequest) == request:
        with suppress(EntryChangedError):
            coordination.delete(session, REQUEST, entry.version)


def open_request(coordination: Coordination) -> SnapshotRequest | None:
    """Return the request that is not answered yet, None if there is none."""
    request = _decoded(coordination.get(REQUEST), SnapshotRequest)
    if request is None:
        return None
    answer = _decoded(coordination.get(ANSWER), SnapshotTaken)
    return None if answer is not None and answer.id == request.id else request


def put_answer(coordination: Coordination, session: int, answer: SnapshotTaken) -> None:
    """Answer a request.

    Raises:
        CoordinationError: if the answer cannot be written.
    """
    _put(coordination, session, ANSWER, answer)


def newest_answer(coordination: Coordination) -> SnapshotTaken | None:
    """Return the answer to the last request that was answered."""
    return _decoded(coordination.get(ANSWER), SnapshotTaken)


def _put(coordination: Coordination, session: int, key: str, content: msgspec.Struct) -> None:
    data = msgspec.json.encode(content)
    for _ in range(_ATTEMPTS):
        entry = coordination.get(key)
        try:
            if entry is None:
                coordination.create(session, key, data)
            else:
                coordination.replace(session, key, data, entry.version)
        except (EntryExistsError, EntryChangedError):
            continue
        return
    raise CoordinationUnavailableError(f'the entry "{key}" always changes')


def _decoded(entry: Entry | None, kind: type[_Value]) -> _Value | None:
    if entry is None:
        return None
    try:
        return msgspec.json.decode(entry.value, type=kind)
    except msgspec.MsgspecError as error:
        raise DamagedCoordinationError(f'entry "{entry.key}" is not readable: {error}') from None
