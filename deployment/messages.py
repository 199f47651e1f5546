"""Requests of commands to the agent, and its answers, as JSON.

A connection carries one request.  The agent sends a challenge; the command answers with its request, its own
challenge and a proof that it has the key; the agent answers with the result and a proof of the same kind.  A
proof is an HMAC of both challenges, the side, and the content, so it is not valid for another request or
another connection.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from fsql.deployment.connections import Connections

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

MESSAGE_BYTES_MAX: Final = 8 << 20
SOCKET: Final = "requests"
"""The name of the agent's socket in its directory."""
_LENGTH: Final = struct.Struct("!I")
_CHALLENGE_BYTES: Final = 32
_PROOF_BYTES: Final = 32


class Ping(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Ask whether the agent answers."""


class Deploy(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Deploy a compiled plan as a new job, or change the plan of a job.

    `plan` is the content of a plan file.  `change` is given for an existing job: it is the permitted effect
    on its state; the job is first drained for at most `drain_seconds`.  `before` is the file of the plan that
    was read to make this one: if the job has another one by now, it is not changed.  Options that are None
    are unchanged.
    `wanted` says whether a new job is started.
    """

    name: str
    plan: str
    workers: int | None = None
    snapshot_ms: int | None = None
    delivery: str | None = None
    auto: bool | None = None
    tick_seconds: float | None = None
    profile: str | None = None
    existing: Literal["refuse", "overwrite", "append"] = "refuse"
    change: Literal["keep", "lose", "rebuild"] | None = None
    before: str | None = None
    drain_seconds: float = 60.0
    connections: Connections = Connections()
    wanted: Literal["running", "stopped"] = "running"
    machines: dict[str, int] | None = None
    allow_inconsistent: bool = False


class Stop(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Stop a job; with `drain_seconds`, at a committed position within that time."""

    name: str
    drain_seconds: float | None = None


class Start(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Start a job that is stopped or has failed; stop it first if it runs.

    Connections of the request replace those of the job.
    """

    name: str
    connections: Connections = Connections()


class Rename(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Rename a job."""

    name: str
    new_name: str


class Drop(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Stop a job and remove its directory."""

    name: str


class Down(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Stop all jobs, and end."""


Request = Ping | Deploy | Stop | Start | Rename | Drop | Down


class Done(msgspec.Struct, frozen=True, tag=True):
    """The request was carried out; `version` is that of the agent."""

    version: str
    pid: int
    job: str | None = None
    seconds: float = 0.0


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The request was not carried out; `diagnostics` is the error."""

    diagnostics: str


Answer = Done | Refused
REQUESTS: Final = msgspec.json.Decoder(Request)
ANSWERS: Final = msgspec.json.Decoder(Answer)


class InvalidMessageError(Exception):
    """A message is not valid, or its sender does not have the key; the text says why."""


@contextmanager
def short_path(directory: Path) -> Iterator[str]:
    """Yield a path of the socket in a directory; the address of a socket has at most 107 bytes."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def new_challenge() -> bytes:
    """Return a new random challenge."""
    return secrets.token_bytes(_CHALLENGE_BYTES)


def send_frame(connection: socket.socket, data: bytes) -> None:
    """Send a frame."""
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive_frame(connection: socket.socket, bytes_max: int = MESSAGE_BYTES_MAX) -> bytes:
    """Return the next frame.

    Raises:
        InvalidMessageError: if the connection ends, or the frame is too long.
        OSError: if the connection fails or times out.
    """
    [length] = _LENGTH.unpack(_receive(connection, _LENGTH.size))
    if length > bytes_max:
        raise InvalidMessageError(f"a message of {length:,} bytes; the limit is {bytes_max:,}")
    return _receive(connection, length)


def seal(key: bytes, side: str, challenges: tuple[bytes, bytes], content: bytes) -> bytes:
    """Return content, preceded by its proof."""
    return _proof(key, side, challenges, content) + content


def unseal(key: bytes, side: str, challenges: tuple[bytes, bytes], data: bytes) -> bytes:
    """Return the content of a sealed message.

    Raises:
        InvalidMessageError: if the proof is not that of `side`.
    """
    proof, content = data[:_PROOF_BYTES], data[_PROOF_BYTES:]
    if not hmac.compare_digest(proof, _proof(key, side, challenges, content)):
        raise InvalidMessageError("the proof is not that of the key")
    return content


def _proof(key: bytes, side: str, challenges: tuple[bytes, bytes], content: bytes) -> bytes:
    text = b"\n".join((b"fsql agent", side.encode(), *challenges, hashlib.sha256(content).digest()))
    return hmac.digest(key, text, "sha256")


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 16))
        if not part:
            raise InvalidMessageError("the connection ended within a message")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
