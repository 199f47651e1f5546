"""Requests for snapshots in coordination: one at a time, until it is answered or withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.coordination.port import DamagedCoordinationError
from fsql.runtime.coordination.snapshot_requests import (
    REQUEST,
    SnapshotRequest,
    SnapshotTaken,
    newest_answer,
    open_request,
    put_answer,
    put_request,
    withdraw_request,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE, OTHER = SnapshotRequest("a", last=False), SnapshotRequest("b", last=True)


@pytest.fixture
def coordination(tmp_path: Path) -> Iterator[EmbeddedCoordination]:
    opened = EmbeddedCoordination(tmp_path / FILE, create=True)
    yield opened
    opened.close()


def test_a_request_is_open_until_it_is_answered(coordination: EmbeddedCoordination) -> None:
    session = coordination.open_session(10.0)
    assert open_request(coordination) is None
    put_request(coordination, session, ONE)
    assert open_request(coordination) == ONE
    put_answer(coordination, session, SnapshotTaken("a", 7, (3, 4)))
    assert open_request(coordination) is None
    assert newest_answer(coordination) == SnapshotTaken("a", 7, (3, 4))
    put_request(coordination, session, OTHER)
    assert open_request(coordination) == OTHER


def test_only_the_own_request_is_withdrawn(coordination: EmbeddedCoordination) -> None:
    session = coordination.open_session(10.0)
    put_request(coordination, session, ONE)
    put_request(coordination, session, OTHER)
    withdraw_request(coordination, session, ONE)
    assert open_request(coordination) == OTHER
    withdraw_request(coordination, session, OTHER)
    assert open_request(coordination) is None


def test_what_is_no_request_is_damage(coordination: EmbeddedCoordination) -> None:
    session = coordination.open_session(10.0)
    coordination.create(session, REQUEST, b'{"id": 1}')
    with pytest.raises(DamagedCoordinationError):
        open_request(coordination)
