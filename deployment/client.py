"""Requests to the agent."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import error_of
from fsql.deployment.messages import (
    ANSWERS,
    InvalidMessageError,
    Refused,
    new_challenge,
    receive_frame,
    seal,
    send_frame,
    short_path,
    unseal,
)
from fsql.deployment.processes import is_stopped
from fsql.runtime.key_file import load_key

if TYPE_CHECKING:
    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.messages import Done, Request

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 60.0


def ask_agent(
    directory: ClusterDirectory, request: Request, *, seconds: float = ANSWER_SECONDS
) -> Done:
    """Send a request to the agent of a cluster directory and return its answer.

    Raises:
        FsqlError: the error that the agent reports; E631, if it does not answer within `seconds`; E602, if
            its key cannot be used.
    """
    agent = directory.agent()
    if agent is None:
        raise no_agent(directory)
    key = load_key(directory.key)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(CONNECT_SECONDS)
            with short_path(directory.requests) as address:
                connection.connect(address)
            agent_challenge = receive_frame(connection)
            command_challenge = new_challenge()
            connection.settimeout(seconds)
            content = seal(
                key, "command", (agent_challenge, command_challenge), msgspec.json.encode(request)
            )
            send_frame(connection, command_challenge + content)
            answer = unseal(
                key, "agent", (agent_challenge, command_challenge), receive_frame(connection)
            )
            answered = ANSWERS.decode(answer)
    except (OSError, InvalidMessageError, msgspec.MsgspecError) as error:
        if is_stopped(agent):
            raise stopped_agent(f'the agent of "{directory.path}"', agent) from None
        message = f'the agent of "{directory.path}" does not answer: {error}'
        helps = (f"see {directory.log}", f"check the cluster: fsql doctor --dir {directory.path}")
        raise FsqlError([Diagnostic("E631", message, helps=helps)]) from None
    if isinstance(answered, Refused):
        raise error_of(answered.diagnostics.encode())
    return answered


def stopped_agent(what: str, process: int) -> FsqlError:
    """Return the error for a command that needs an agent whose process is stopped."""
    message = f"{what}, process {process}, is stopped"
    helps = (
        f"let it go on: kill -CONT {process}",
        f"or end it, and start another with fsql up: kill -KILL {process}",
    )
    note = "jobs go on without it, but nobody restarts them if they end"
    return FsqlError([Diagnostic("E631", message, notes=(note,), helps=helps)])


def no_agent(directory: ClusterDirectory) -> FsqlError:
    """Return the error for a command that needs an agent, when none runs."""
    message = f'no agent runs for the cluster directory "{directory.path}"'
    helps = (
        f"start one: fsql up --dir {directory.path}",
        "or name another directory with --dir or FSQL_DIR",
    )
    return FsqlError([Diagnostic("E631", message, helps=helps)])
