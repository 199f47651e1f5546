"""Forward connections to a port of the loopback: `python relay.py ADDRESS PORT TO`.

A ZooKeeper server that `fsql zookeeper` starts is reached by other machines in this way.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

_BYTES = 65_536


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_BYTES):
            target.write(data)
            await target.drain()
    target.close()


async def main(address: str, port: int, to: int) -> None:
    """Serve until the process is ended."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))

    server = await asyncio.start_server(serve, address, port)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
