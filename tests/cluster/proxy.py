"""A network that fails, between real processes: proxies through which they speak TCP to each other.

Each node listens behind a proxy and announces the proxy's address, so that every connection to it goes
through here.  A proxy does to its connections what it is told:

| trouble  | what happens to connections                                                              |
|----------|------------------------------------------------------------------------------------------|
| `NONE`   | bytes pass; connections that were swallowed are reset                                    |
| `DELAY`  | bytes pass late, in order                                                                |
| `STALL`  | bytes pass in neither direction, but wait: a partition that TCP survives                 |
| `DEAF`   | bytes pass from the node, and wait on the way to it                                      |
| `CUT`    | each is closed, as by a process that ends; new ones pass                                 |
| `RESET`  | each is reset, as by a machine that starts again; new ones pass                          |
| `REFUSE` | each is reset, and so is every new one                                                   |
| `APART`  | those from other processes than this one stall: this one alone reaches the node           |
| `SWALLOW`| the node's end is closed, the other stays open, and what it sends is lost: half-open     |

`schedule` makes a sequence of troubles from a seed.  How bytes fall between them is up to the machine,
so that a run cannot be repeated exactly: what must hold has to hold for all of them.
"""

from __future__ import annotations

import asyncio
import enum
import random
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import TracebackType

Result = TypeVar("Result")

_BLOCK_BYTES: Final = 1 << 16
_BLOCKS_LATE_MAX: Final = 256
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing resets."""


class ProxyFault(enum.Enum):
    """What a proxy does to its connections."""

    NONE = "none"
    DELAY = "delay"
    STALL = "stall"
    DEAF = "deaf"
    CUT = "cut"
    RESET = "reset"
    REFUSE = "refuse"
    SWALLOW = "swallow"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Event:
    """From `at` seconds on, proxy number `proxy` is in `trouble`."""

    at: float
    proxy: int
    trouble: ProxyFault


def schedule(seed: int, proxies: int, seconds: float) -> list[Event]:
    """Return the troubles of a run, by time; at the end there are none."""
    chance = random.Random(seed)
    events = []
    for proxy in range(proxies):
        at = chance.uniform(0, 0.5)
        while at < seconds:
            events.append(Event(at, proxy, chance.choice(list(ProxyFault))))
            at += chance.choice((0.01, 0.1, 0.5, 1.0)) * chance.uniform(0.5, 2.0)
        events.append(Event(seconds, proxy, ProxyFault.NONE))
    return sorted(events, key=lambda event: (event.at, event.proxy))


class Network:
    """Proxies, and the thread that they live in."""

    def __init__(self) -> None:
        self.proxies: list[Proxy] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def proxy(self, target: str, delay_seconds: float = 0.02) -> Proxy:
        """Return a new proxy before the address `target`, such as "tcp://127.0.0.1:5555"."""
        proxy = Proxy(int(target.rpartition(":")[2]), delay_seconds)
        self._do(proxy.open())
        self.proxies.append(proxy)
        return proxy

    def set(self, number: int, trouble: ProxyFault) -> None:
        """Have a proxy do something else from now on."""
        self._do(self.proxies[number].set(trouble))

    async def _end(self) -> None:
        """Close all proxies, and see to it that nothing goes on: a connection that comes just now, say."""
        for proxy in self.proxies:
            await proxy.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    def _do(self, work: Coroutine[None, None, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@dataclass(slots=True, eq=False)
class _Connection:
    """One connection through a proxy: whoever connected, and the node."""

    client: asyncio.StreamWriter
    node: asyncio.StreamWriter
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    swallowed: bool = False
    from_here: bool = False

    async def close(self, *, reset: bool) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for writer in (self.client, self.node):
            await _close(writer, reset=reset)


async def _close(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    if reset and not writer.is_closing():
        end = writer.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        writer.transport.abort()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


class Proxy:
    """One proxy; its coroutines run in the thread of its network."""

    def __init__(self, port: int, delay_seconds: float) -> None:
        self.address = ""
        self.trouble = ProxyFault.NONE
        self.passed_bytes = 0
        """How many bytes have come out, in both directions."""
        self._port = port
        self._delay = delay_seconds
        self._server: asyncio.Server | None = None
        self._connections: list[_Connection] = []
        self._changed = asyncio.Condition()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._close_all(reset=True)

    async def set(self, trouble: ProxyFault) -> None:
        self.trouble = trouble
        if trouble in {ProxyFault.CUT, ProxyFault.RESET, ProxyFault.REFUSE}:
            await self._close_all(reset=trouble is not ProxyFault.CUT)
        elif trouble is ProxyFault.SWALLOW:
            for connection in self._connections:
                connection.swallowed = True
                await _close(connection.node, reset=False)
        elif trouble is ProxyFault.NONE:
            for connection in [each for each in self._connections if each.swallowed]:
                self._connections.remove(connection)
                await connection.close(reset=True)
        async with self._changed:
            self._changed.notify_all()

    async def _close_all(self, *, reset: bool) -> None:
        connections, self._connections = self._connections, []
        for connection in connections:
            await connection.close(reset=reset)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.trouble is ProxyFault.REFUSE:
            await _close(writer, reset=True)
            return
        try:
            from_node, to_node = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            await _close(writer, reset=True)
            return
        except asyncio.CancelledError:
            await _close(writer, reset=True)
            raise
        port = writer.get_extra_info("peername")[1]
        connection = _Connection(writer, to_node, from_here=port in own_ports())
        self._connections.append(connection)
        ways = ((reader, to_node, True), (from_node, writer, False))
        for source, target, inwards in ways:
            late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_BLOCKS_LATE_MAX)
            connection.tasks += [
                asyncio.ensure_future(self._take(source, late)),
                asyncio.ensure_future(self._pass(connection, late, target, inwards=inwards)),
            ]

    async def _take(
        self, source: asyncio.StreamReader, late: asyncio.Queue[tuple[float, bytes]]
    ) -> None:
        """Take blocks with the time at which they may pass; an empty one is the end."""
        block = b"x"
        while block:
            try:
                block = await source.read(_BLOCK_BYTES)
            except OSError:
                block = b""
            delay = self._delay if self.trouble is ProxyFault.DELAY else 0.0
            await late.put((time.monotonic() + delay, block))

    async def _pass(
        self,
        connection: _Connection,
        late: asyncio.Queue[tuple[float, bytes]],
        target: asyncio.StreamWriter,
        *,
        inwards: bool,
    ) -> None:
        while True:
            at, block = await late.get()
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            async with self._changed:
                await self._changed.wait_for(lambda: not self._waits(connection, inwards=inwards))
            if connection.swallowed:
                continue
            if not block:
                await _close(target, reset=False)
                return
            with suppress(OSError):
                target.write(block)
                await target.drain()
                self.passed_bytes += len(block)

    def _waits(self, connection: _Connection, *, inwards: bool) -> bool:
        if self.trouble is ProxyFault.APART:
            return not connection.from_here
        return self.trouble is ProxyFault.STALL or (inwards and self.trouble is ProxyFault.DEAF)


def own_ports() -> set[int]:
    """Return the ports of the connections of this process, by `/proc`."""
    inodes = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            inodes.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(line[1].partition(":")[2], 16) for line in lines if line[9] in inodes}
