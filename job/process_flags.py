"""The command lines with which the launcher starts the processes of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from fsql.job.process_options import ProcessOptions
    from fsql.job.standard_output_server import StandardOutputServer
    from fsql.runtime.drivers.curve.keys import NodeKeys


def coordinator_flags(
    state: Path,
    listening: socket.socket,
    server: StandardOutputServer | None,
    options: ProcessOptions,
) -> tuple[str, ...]:
    """Return the command of the coordinator; it inherits the socket `listening`."""
    flags: tuple[str, ...] = ("coordinator", "--state", str(state))
    flags += ("--listening", str(listening.fileno()))
    if options.state is None:
        flags += ("--temporary",)
    if server is None:
        return flags
    return (*flags, "--stdout", f"{server.address[0]}:{server.address[1]}")


def worker_flags(
    leader: str, key: Path, listening: socket.socket, access: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the command of a worker, which finds the coordinator at `leader`."""
    flags = ("worker", "--supervised", "--join", leader, "--key", str(key), *access)
    if "--keys" not in access:
        return flags
    return (*flags, "--listen", f"tcp://{listening.getsockname()[0]}:*")


def access_flags(options: ProcessOptions, curve: NodeKeys | None) -> tuple[str, ...]:
    """Return the flags for credentials and keys; all processes of a run use the key with which it began."""
    flags: tuple[str, ...] = ()
    if options.credentials is not None:
        flags += ("--coordination-credentials", str(options.credentials))
    if curve is not None:
        flags += ("--keys", str(curve.directory), "--fingerprint", curve.own.fingerprint)
    return (*flags, "--json") if curve is not None and options.json_messages else flags
