"""The processes of trials: started for a page, and ended with it."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fsql.console.web.drawing import View
    from fsql.console.web.trial import TrialRequest

TRIALS_MAX: Final = 3
"""A browser opens six connections to a server: a page has two streams, and a trial has one."""
LINE_BYTES_MAX: Final = 16 << 20
_POLL_SECONDS: Final = 0.01


class TooManyTrialsError(Exception):
    """As many trials run as may."""


class Trials:
    """The trials that run, by their ids."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._count = 0

    @asynccontextmanager
    async def open(self, request: TrialRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        """Start a trial, and return its messages; it ends with the context.

        Raises:
            TooManyTrialsError: if as many run as may.
        """
        if self._count >= TRIALS_MAX:
            raise TooManyTrialsError
        self._count += 1
        name = secrets.token_hex(8)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "fsql", "trial"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE_BYTES_MAX,
            )
            self._running[name] = process
            try:
                self._send(process, request)
                yield self._messages(name, process)
            finally:
                del self._running[name]
                await end(process)
        finally:
            self._count -= 1

    def show(self, name: str, view: View) -> bool:
        """Change the chart of a trial; return whether it runs."""
        process = self._running.get(name)
        if process is None:
            return False
        self._send(process, view)
        return True

    def _send(self, process: asyncio.subprocess.Process, message: msgspec.Struct) -> None:
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(msgspec.json.encode(message) + b"\n")

    async def _messages(
        self, name: str, process: asyncio.subprocess.Process
    ) -> AsyncIterator[bytes]:
        assert process.stdout is not None
        yield _line({"trial": name})
        ended = False
        async for line in process.stdout:
            ended = line.startswith((b'{"ended"', b'{"error"'))
            yield line
        if not ended:
            code = await process.wait()
            reason = "it was ended: it needed too much memory or processor time" if code < 0 else ""
            yield _line({"error": reason or f"the trial ended with exit code {code}"})


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill a process if it runs, and close the pipes to it when it has ended, also if that is cancelled."""
    with suppress(ProcessLookupError):
        process.kill()
    cancelled = None
    while process.returncode is None:
        try:
            await asyncio.sleep(_POLL_SECONDS)  # `process.wait` also waits until its pipes are read
        except asyncio.CancelledError as error:
            cancelled = error
    process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001 - asyncio has no public way
    if cancelled is not None:
        raise cancelled
