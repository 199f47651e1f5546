"""Charts of running jobs for the pages that show them: one process for each job of a page.

A page has one stream, on which all of its charts are told, since a browser opens few connections to a server.
Processes end with the stream.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.console.web.drawing import View  # noqa: TC001 - msgspec reads the annotations
from fsql.console.web.job_charts import ChartRequest
from fsql.console.web.trials import LINE_BYTES_MAX, end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PROCESSES_MAX: Final = 8
_MESSAGES_MAX: Final = 64


class ShownChart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chart that a page shows, of a result of a job; without a view it is taken away."""

    page: str
    chart: str
    job: str
    result: str
    view: View | None = None


class TooManyChartsError(Exception):
    """As many jobs are drawn as may be."""


class _Page:
    """The messages for a page, and the processes that write them, by the job that they draw."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[bytes] = asyncio.Queue(_MESSAGES_MAX)
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self.starting = asyncio.Lock()


class Charts:
    """The pages with charts, by their ids."""

    def __init__(self) -> None:
        self._pages: dict[str, _Page] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """Return the messages for a new page; the first has its id."""
        name, page = secrets.token_hex(8), _Page()
        self._pages[name] = page
        page.messages.put_nowait(_line({"page": name}))
        try:
            yield _messages(page)
        finally:
            del self._pages[name]
            for task in page.tasks:
                task.cancel()
            for process in page.processes.values():
                await end(process)

    async def show(self, shown: ShownChart, directory: Path) -> bool:
        """Show a chart of the job with a directory; return whether the page is open.

        Raises:
            TooManyChartsError: if as many jobs are drawn as may be.
        """
        page = self._pages.get(shown.page)
        if page is None:
            return False
        async with page.starting:
            process = page.processes.get(shown.job)
            if process is None or process.returncode is not None:
                if shown.view is None:
                    return True
                process = await self._start(page, directory)
                page.processes[shown.job] = process
                page.tasks.append(asyncio.create_task(_pass_on(page, shown.job, process)))
        assert process.stdin is not None
        request = ChartRequest(shown.chart, shown.result, shown.view)
        with suppress(OSError):
            process.stdin.write(msgspec.json.encode(request) + b"\n")
        return True

    async def _start(self, page: _Page, directory: Path) -> asyncio.subprocess.Process:
        running = sum(
            process.returncode is None
            for each in self._pages.values()
            for process in each.processes.values()
        )
        if running >= PROCESSES_MAX:
            raise TooManyChartsError
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fsql", "trial", "--charts-of", str(directory)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LINE_BYTES_MAX,
        )
        if page not in self._pages.values():  # it has gone meanwhile
            await end(process)
        return process


async def _messages(page: _Page) -> AsyncIterator[bytes]:
    while True:
        yield await page.messages.get()


async def _pass_on(page: _Page, job: str, process: asyncio.subprocess.Process) -> None:
    """Pass on what a process tells; say so if it ends."""
    assert process.stdout is not None
    async for line in process.stdout:
        await page.messages.put(line)
    await process.wait()
    await page.messages.put(_line({"job": job, "error": "the charts of this job have ended"}))


def _line(message: dict[str, str]) -> bytes:
    return json.dumps(message).encode() + b"\n"
