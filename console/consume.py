"""`fsql consume`: the reference sink, which stores the rows of a job in a file."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fsql.compiler.diagnostics.numbers import counted_text
from fsql.compiler.records import dataclass
from fsql.connectors.addresses import listen_error, loopback
from fsql.connectors.file.journal import has_journal
from fsql.connectors.file.output_files import Existing, check_existing, locked_output
from fsql.connectors.file.store import FileStore
from fsql.connectors.stream_stores import StreamStore
from fsql.connectors.tcp.proofs import consumer_key
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.console import exit_codes
from fsql.console.interrupt import Interrupt, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.connectors.tcp.reference import StoredRows
    from fsql.console.reporter import Reporter
    from fsql.runtime.sink import SinkStore

_WAIT_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of rows: a path, or `-`; and the handling of a file that is not empty."""

    name: str
    existing: Existing = Existing.REFUSE
    key: Path | None = None


def consume(
    address: str, target: Target, times: TextIO | None, reporter: Reporter, *, until_end: bool
) -> int:
    """Listen, and store rows until interrupted or, if requested, until a job has finished.

    Raises:
        FsqlError: E532, E534, E602, E540 or E541, if it cannot start; E535, if storing fails.
    """
    rows = bytes_ = 0

    def on_stored(bundle: StoredRows) -> None:
        nonlocal rows, bytes_
        rows, bytes_ = rows + bundle.rows, bytes_ + bundle.bytes
        if times is not None:
            line = {"at": time.monotonic_ns(), "rows": bundle.rows, "bytes": bundle.bytes}
            times.write(json.dumps({**line, "ends": bundle.ends}) + "\n")
            times.flush()

    code = exit_codes.OK
    with ExitStack() as open_:
        server = _server(
            address, consumer_key(target.key), open_.enter_context(_open_store(target)), on_stored
        )
        open_.callback(server.close)
        host, port = server.address
        reporter.inform("listening", {"host": host, "port": port}, f"listening at {host}:{port}\n")
        interrupt = open_.enter_context(Interrupt())
        try:
            while not (until_end and server.ended):
                server.serve(_WAIT_SECONDS)
                interrupt.check()
        except Interrupted as interrupted:
            code = interrupted.exit_code
    stored = f"stored {counted_text(rows, 'row')}, {counted_text(bytes_, 'byte')}\n"
    reporter.inform("summary", {"rows": rows, "bytes": bytes_}, stored)
    return code


@contextmanager
def _open_store(target: Target) -> Iterator[SinkStore]:
    if target.name == "-":
        yield StreamStore(sys.stdout.buffer, "standard output")
        return
    path = Path(target.name)
    prefix = path.with_name(f"{path.name}.position")
    with locked_output(path):
        if not has_journal(prefix):
            check_existing(path, target.existing)
        yield FileStore(path, prefix, append=target.existing is Existing.APPEND)


def _server(
    address: str, key: bytes, store: SinkStore, on_stored: Callable[[StoredRows], None]
) -> ConsumerServer:
    try:
        return ConsumerServer(loopback(address), store, on_stored, key=key)
    except OSError as error:
        raise listen_error("E532", address, error) from None
