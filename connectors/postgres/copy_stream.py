"""The data that a server sends after COPY or START_REPLICATION, received without waiting for long."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

from fsql.connectors.postgres.client import psycopg_module

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGconn, PGresult


class CopyStream:
    """The messages that follow a statement; the connection is used for nothing else meanwhile."""

    def __init__(self, connection: psycopg.Connection[Any], statement: str) -> None:
        """Send the statement.

        Raises:
            psycopg.Error: if the connection is lost.
        """
        self._client = psycopg_module()
        self._server: PGconn = connection.pgconn
        self._server.send_query(statement.encode())
        self.flowing = False
        """Whether the server has accepted the statement, so that data can be sent."""
        self.ended = False
        """Whether the server has sent everything."""

    def read(self, seconds: float) -> bytes | None:
        """Return the next message, None if there is none within `seconds` or after the end.

        Raises:
            psycopg.Error: if the server refuses the statement, or the connection is lost.
        """
        if not self.flowing and not self._begin(seconds):
            return None
        if self.ended:
            return None
        for attempt in (0, 1):
            size, data = self._server.get_copy_data(1)
            if size > 0:
                return bytes(data)
            if size == -1:
                self._finish()
                return None
            if attempt or not self._wait(seconds):
                return None
        return None

    def send(self, data: bytes) -> None:
        """Send a message.

        Raises:
            psycopg.Error: if the connection is lost.
        """
        self._server.put_copy_data(data)
        self._server.flush()

    def _begin(self, seconds: float) -> bool:
        """Return whether the server has accepted the statement, waiting up to `seconds`."""
        while self._server.is_busy():
            if not self._wait(seconds):
                return False
        result = self._server.get_result()
        copies = self._client.pq.ExecStatus
        if result is not None and result.status in {copies.COPY_OUT, copies.COPY_BOTH}:
            self.flowing = True
            return True
        raise self._error(result)

    def _finish(self) -> None:
        """Take what the server says at the end of the data.

        Raises:
            psycopg.Error: if it is an error.
        """
        status = self._client.pq.ExecStatus
        while (result := self._server.get_result()) is not None:
            if result.status not in {status.COMMAND_OK, status.TUPLES_OK, status.COPY_IN}:
                raise self._error(result)
            if result.status == status.COPY_IN:
                message = "the server has ended the stream"
                raise self._client.OperationalError(message)
        self.ended = True

    def _error(self, result: PGresult | None) -> psycopg.Error:
        if result is not None:
            error: psycopg.Error = self._client.errors.error_from_result(result)
            return error
        return self._client.OperationalError("the connection to the server is lost")

    def _wait(self, seconds: float) -> bool:
        """Return whether something has come within `seconds`."""
        waiting = select.poll()
        waiting.register(self._server.socket, select.POLLIN)
        if not waiting.poll(seconds * 1000):
            return False
        self._server.consume_input()
        return True


_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def row_of_copy(line: bytes) -> list[str | None]:
    """Return the values of a row that COPY has sent as text."""
    values = line.decode().removesuffix("\n").split("\t")
    return [
        None if each == "\\N" else _unescaped(each) if "\\" in each else each for each in values
    ]


def _unescaped(text: str) -> str:
    first, *parts = text.split("\\")
    rest = iter(parts)
    out = [first]
    for part in rest:
        if part:
            out.append(_ESCAPES.get(part[0], part[0]) + part[1:])
        else:
            out.append("\\" + next(rest, ""))
    return "".join(out)


class Command:
    """A command of replication, whose answer is waited for in steps: the server may take its time."""

    def __init__(self, connection: psycopg.Connection[Any], statement: str) -> None:
        """Send the command.

        Raises:
            psycopg.Error: if the connection is lost.
        """
        self._client = psycopg_module()
        self._server: PGconn = connection.pgconn
        self._server.send_query(statement.encode())

    def answer(self, seconds: float) -> list[str] | None:
        """Return the values of the first row, none if there are no rows; None if nothing comes in time.

        Raises:
            psycopg.Error: if the server refuses, or the connection is lost.
        """
        status = self._client.pq.ExecStatus
        values: list[str] = []
        while True:
            while self._server.is_busy():
                waiting = select.poll()
                waiting.register(self._server.socket, select.POLLIN)
                if not waiting.poll(seconds * 1000):
                    return None
                self._server.consume_input()
            result = self._server.get_result()
            if result is None:
                return values
            if result.status not in {status.TUPLES_OK, status.COMMAND_OK}:
                error: psycopg.Error = self._client.errors.error_from_result(result)
                raise error
            if result.ntuples:
                row = (result.get_value(0, column) for column in range(result.nfields))
                values = ["" if each is None else bytes(each).decode() for each in row]
