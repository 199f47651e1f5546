"""The agent's socket: only who has the key is answered, and only requests that are well formed."""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec
import pytest

from fsql.compiler.diagnostics.encoding import error_of
from fsql.deployment import server
from fsql.deployment.messages import (
    ANSWERS,
    MESSAGE_BYTES_MAX,
    Done,
    InvalidMessageError,
    Ping,
    Refused,
    new_challenge,
    receive_frame,
    seal,
    send_frame,
    short_path,
    unseal,
)
from fsql.deployment.server import CONNECTIONS_MAX, RequestServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsql.deployment.messages import Answer, Request

KEY = bytes(32)


class Serving:
    """A server that records what it carries out and what it reports."""

    def __init__(self, directory: Path) -> None:
        self.carried_out: list[Request] = []
        self.said: list[str] = []
        self.directory = directory
        self.server = RequestServer(directory, KEY, self._carry_out, self.said.append)
        self.server.start()

    def _carry_out(self, request: Request) -> Answer:
        self.carried_out.append(request)
        return Done("1", 7)

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        with short_path(self.directory) as address:
            connection.connect(address)
        return connection

    def ask(self, content: bytes, key: bytes = KEY, side: str = "command") -> Answer:
        with self.connect() as connection:
            theirs, ours = receive_frame(connection), new_challenge()
            send_frame(connection, ours + seal(key, side, (theirs, ours), content))
            answer = unseal(KEY, "agent", (theirs, ours), receive_frame(connection))
        return ANSWERS.decode(answer)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    found = Serving(tmp_path / "requests")
    yield found
    found.server.close()


def test_who_has_the_key_is_answered(serving: Serving) -> None:
    assert serving.ask(msgspec.json.encode(Ping())) == Done("1", 7)
    assert serving.carried_out == [Ping()]


@pytest.mark.parametrize(("key", "side"), [(b"x" * 32, "command"), (KEY, "agent")])
def test_another_key_or_side_is_not_answered(serving: Serving, key: bytes, side: str) -> None:
    with pytest.raises((InvalidMessageError, OSError)):
        serving.ask(msgspec.json.encode(Ping()), key, side)
    serving.server.close()
    assert serving.carried_out == []
    assert serving.said == ["a connection was refused: the proof is not that of the key"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"type":"Shell","name":"x"}',
        b'{"type":"Drop"}',
        b'{"type":"Drop","name":7}',
        b'{"type":"Drop","name":"x","more":1}',
        b"\x80\x04]\x94.",
    ],
)
def test_malformed_requests_are_refused(serving: Serving, content: bytes) -> None:
    answer = serving.ask(content)
    assert isinstance(answer, Refused)
    assert error_of(answer.diagnostics.encode()).diagnostics[0].code == "E631"
    assert serving.carried_out == []


def test_a_message_that_is_too_long_is_not_read(serving: Serving) -> None:
    with serving.connect() as connection:
        receive_frame(connection)
        connection.sendall((MESSAGE_BYTES_MAX + 1).to_bytes(4, "big"))
        assert connection.recv(1) == b""
    serving.server.close()
    assert serving.said == [
        "a connection was refused: a message of 8,388,609 bytes; the limit is 8,388,608"
    ]


def test_a_recorded_request_is_of_no_use_again(serving: Serving) -> None:
    with serving.connect() as connection:
        theirs, ours = receive_frame(connection), new_challenge()
        recorded = ours + seal(KEY, "command", (theirs, ours), msgspec.json.encode(Ping()))
        send_frame(connection, recorded)
        receive_frame(connection)
    with serving.connect() as connection:
        receive_frame(connection)
        send_frame(connection, recorded)
        assert connection.recv(1) == b""
    assert serving.carried_out == [Ping()]


def test_only_the_owner_can_reach_the_agent(tmp_path: Path) -> None:
    """Also if the directory was there and was open to others."""
    (tmp_path / "requests").mkdir(mode=0o777)
    (tmp_path / "requests").chmod(0o777)
    found = Serving(tmp_path / "requests")
    assert stat.S_IMODE((tmp_path / "requests").stat().st_mode) == 0o700
    found.server.close()


def test_a_path_may_be_longer_than_the_address_of_a_socket(tmp_path: Path) -> None:
    found = Serving(tmp_path / ("x" * 200) / "requests")
    assert found.ask(msgspec.json.encode(Ping())) == Done("1", 7)
    found.server.close()


def test_the_socket_of_a_killed_agent_is_replaced(tmp_path: Path) -> None:
    for _ in range(2):
        found = Serving(tmp_path / "requests")
        assert found.ask(msgspec.json.encode(Ping())) == Done("1", 7)
        found.server.close()


def test_idle_connections_of_other_users_take_no_slot(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context, ExitStack() as idle:
        context.setattr(server, "peer_user", lambda _: os.geteuid() + 1)
        for _ in range(3 * CONNECTIONS_MAX):
            connection = idle.enter_context(serving.connect())
            assert connection.recv(1) == b""
        context.undo()
        assert serving.ask(msgspec.json.encode(Ping())) == Done("1", 7)
    assert serving.said == [f"a connection was refused: it is of user {os.geteuid() + 1}"]


def test_a_flood_of_refused_connections_is_logged_once(serving: Serving) -> None:
    for _ in range(50):
        with serving.connect() as connection:
            receive_frame(connection)
            connection.sendall((MESSAGE_BYTES_MAX + 1).to_bytes(4, "big"))
            assert connection.recv(1) == b""
    assert serving.ask(msgspec.json.encode(Ping())) == Done("1", 7)
    assert len(serving.said) == 1


def test_accepting_goes_on_after_descriptors_ran_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([errno.EMFILE, errno.ENFILE, errno.ECONNABORTED])

    class Failing(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            for number in failures:
                raise OSError(number, os.strerror(number))
            return super().accept()

    monkeypatch.setattr(socket, "socket", Failing)
    found = Serving(tmp_path / "requests")
    assert found.ask(msgspec.json.encode(Ping())) == Done("1", 7)
    found.server.close()
    assert found.said == ["a connection was refused: [Errno 24] Too many open files"]
