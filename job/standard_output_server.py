"""Receives the rows of a job's processes for standard output, which belongs to the launcher."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.stream_stores import StreamStore
from fsql.connectors.tcp.reference import ConsumerServer

if TYPE_CHECKING:
    from fsql.connectors.context import OutputStream

_SERVE_SECONDS: Final = 0.1


class StandardOutputServer:
    """Serves one job in a thread until it is closed."""

    def __init__(self, stream: OutputStream, job: str, key: bytes) -> None:
        """Write the rows of `job` to `stream`; the job authenticates itself with the key of the run."""
        store = StreamStore(stream, "standard output")
        self._server = ConsumerServer(("127.0.0.1", 0), store, job=job, key=key)
        self.address = self._server.address
        self._closed = False
        self._error: FsqlError | None = None
        self._thread = threading.Thread(target=self._serve, name="fsql-stdout", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise the error that has ended the thread, if any.

        Raises:
            FsqlError: E535, if standard output cannot be written.
        """
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        try:
            while not self._closed:
                self._server.serve(_SERVE_SECONDS)
        except FsqlError as error:
            self._error = error
