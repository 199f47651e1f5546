"""The agent's socket: only who has the key is answered, and only requests that are well formed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import msgspec
import pytest

from fsql.compiler.diagnostics.encoding import error_of
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
    unseal,
)
from fsql.deployment.server import RequestServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.deployment.messages import Answer, Request

KEY = bytes(32)


class Serving:
    """A server that records what it carries out and what it reports."""

    def __init__(self) -> None:
        self.carried_out: list[Request] = []
        self.said: list[str] = []
        self.server = RequestServer(KEY, self._carry_out, self.said.append)
        self.server.start()

    def _carry_out(self, request: Request) -> Answer:
        self.carried_out.append(request)
        return Done("1", 7)

    def ask(self, content: bytes, key: bytes = KEY, side: str = "command") -> Answer:
        with socket.create_connection(("127.0.0.1", self.server.port), 20) as connection:
            theirs, ours = receive_frame(connection), new_challenge()
            send_frame(connection, ours + seal(key, side, (theirs, ours), content))
            answer = unseal(KEY, "agent", (theirs, ours), receive_frame(connection))
        return ANSWERS.decode(answer)


@pytest.fixture
def serving() -> Iterator[Serving]:
    found = Serving()
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
    with socket.create_connection(("127.0.0.1", serving.server.port), 20) as connection:
        receive_frame(connection)
        connection.sendall((MESSAGE_BYTES_MAX + 1).to_bytes(4, "big"))
        assert connection.recv(1) == b""
    serving.server.close()
    assert serving.said == [
        "a connection was refused: a message of 8,388,609 bytes; the limit is 8,388,608"
    ]


def test_a_recorded_request_is_of_no_use_again(serving: Serving) -> None:
    with socket.create_connection(("127.0.0.1", serving.server.port), 20) as connection:
        theirs, ours = receive_frame(connection), new_challenge()
        recorded = ours + seal(KEY, "command", (theirs, ours), msgspec.json.encode(Ping()))
        send_frame(connection, recorded)
        receive_frame(connection)
    with socket.create_connection(("127.0.0.1", serving.server.port), 20) as connection:
        receive_frame(connection)
        send_frame(connection, recorded)
        assert connection.recv(1) == b""
    assert serving.carried_out == [Ping()]


def test_the_agent_listens_on_the_loopback_only(serving: Serving) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", serving.server.port), 5)
