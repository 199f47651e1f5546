"""One connection of a client: startup, authentication, and statements, simple and extended."""

from __future__ import annotations

import asyncio
import secrets
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.job.results.answers import answer, describe
from fsql.serving.postgres import messages as m
from fsql.serving.postgres import scram
from fsql.serving.postgres.catalog import VERSION, Catalog, CatalogError
from fsql.serving.postgres.commands import (
    Command,
    command_of,
    compared_names,
    parameter_count,
    setting_of,
    statements,
    with_parameters,
)
from fsql.serving.postgres.values import (
    TEXT,
    UNKNOWN,
    ParameterError,
    binary_encoder,
    literal,
    pg_type,
    text_encoder,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from concurrent.futures import Executor
    from ssl import SSLContext

    from fsql.job.results.answers import Limits
    from fsql.job.results.job_results import JobResults
    from fsql.serving.jobs import ServedJobs
    from fsql.serving.postgres.values import PgType

_STARTUP_SECONDS: Final = 20.0
_SEND_SECONDS: Final = 60.0
_SEND_BYTES: Final = 256 << 10
_STATEMENTS_MAX: Final = 1000
_SETTINGS: Final = {
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "is_superuser": "off",
    "session_authorization": "fsql",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "default_transaction_read_only": "on",
    "transaction_read_only": "on",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "search_path": "public",
    "server_version_num": "150000",
    "max_identifier_length": "63",
    "lc_collate": "C",
    "statement_timeout": "0",
    "extra_float_digits": "1",
}
_REPORTED: Final = {
    "server_version": "server_version",
    "server_encoding": "server_encoding",
    "client_encoding": "client_encoding",
    "application_name": "application_name",
    "is_superuser": "is_superuser",
    "session_authorization": "session_authorization",
    "datestyle": "DateStyle",
    "intervalstyle": "IntervalStyle",
    "timezone": "TimeZone",
    "integer_datetimes": "integer_datetimes",
    "standard_conforming_strings": "standard_conforming_strings",
    "default_transaction_read_only": "default_transaction_read_only",
}
_TAGS: Final = {Command.BEGIN: "BEGIN", Command.COMMIT: "COMMIT", Command.ROLLBACK: "ROLLBACK"}
POSITION: Final = "fsql.position"
AT_LEAST: Final = "fsql.at_least"


class SqlError(Exception):
    """An error that a client is told, with its SQLSTATE."""

    def __init__(self, state: str, what: str, detail: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.state, self.what, self.detail, self.hint = state, what, detail, hint


@dataclass(frozen=True, slots=True)
class Shared:
    """What all connections use."""

    jobs: ServedJobs
    limits: Limits
    executor: Executor
    verifier: scram.Verifier | None
    tls: SSLContext | None
    requires_tls: bool
    catalogs: dict[str, Catalog]
    log: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a statement, or only what it has done."""

    tag: str
    columns: tuple[tuple[str, PgType], ...] | None = None
    rows: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with the types of its parameters."""

    text: str
    oids: tuple[int, ...]


@dataclass(slots=True)
class Portal:
    """A statement with values, and the rows that were not sent yet."""

    text: str
    formats: tuple[int, ...]
    result: Result | None = None
    sent: int = 0


class Session:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shared: Shared
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._shared = shared
        self._settings = dict(_SETTINGS)
        self._status = b"I"
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
        self._skips = False
        self._is_encrypted = False
        self._job: JobResults | None = None

    async def run(self) -> None:
        """Serve the connection until it ends."""
        try:
            async with asyncio.timeout(_STARTUP_SECONDS):
                is_open = await self._start()
            while is_open:
                kind, content = await self._receive()
                is_open = await self._handle(kind, content)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            pass
        except m.ProtocolError as error:
            with suppress(OSError, TimeoutError):
                self._writer.write(m.error("08P01", str(error), severity="FATAL"))
                await self._drain()
        except SqlError as error:
            with suppress(OSError, TimeoutError):
                self._writer.write(
                    m.error(error.state, error.what, error.detail, error.hint, severity="FATAL")
                )
                await self._drain()
        finally:
            self._writer.close()

    # Startup.

    async def _start(self) -> bool:
        """Return whether the client may ask; False if it only wanted to cancel."""
        content = await self._startup_message()
        if content is None:
            return False
        await self._log_in(self._startup_settings(content))
        return True

    async def _startup_message(self) -> bytes | None:
        """Return the content of the startup message, None if the client wanted to cancel a query."""
        while True:
            (length,) = struct.unpack("!i", await self._reader.readexactly(4))
            if not 8 <= length <= m.STARTUP_BYTES_MAX:
                raise m.ProtocolError("the startup message is too long")
            content = await self._reader.readexactly(length - 4)
            (code,) = struct.unpack("!i", content[:4])
            if code == m.SSL:
                await self._start_tls()
            elif code == m.GSS:
                self._writer.write(b"N")
            elif code == m.CANCEL:
                return None
            elif code >> 16 == m.PROTOCOL_3 >> 16:
                return content[4:]
            else:
                raise m.ProtocolError("only version 3 of the protocol is spoken")

    async def _log_in(self, given: dict[str, str]) -> None:
        """Authenticate a client, and find the job that it asks for."""
        if self._shared.requires_tls and not self._is_encrypted:
            raise SqlError("28000", "this server requires TLS", hint="connect with sslmode=require")
        await self._authenticate()
        database = given.get("database") or given.get("user", "")
        try:
            self._job = self._shared.jobs.find(database)
        except FsqlError as error:
            [first] = error.diagnostics[:1]
            raise SqlError("3D000", first.message, hint=" ".join(first.helps)) from None
        for key, value in given.items():
            if key.lower() in self._settings:
                self._settings[key.lower()] = value
        self._writer.write(m.authentication(0))
        for key, name in _REPORTED.items():
            self._writer.write(m.parameter_status(name, self._settings[key]))
        self._writer.write(m.message(b"K", struct.pack("!ii", 1, secrets.randbits(31))))
        self._writer.write(m.ready(self._status))
        await self._drain()

    async def _start_tls(self) -> None:
        if self._shared.tls is None or self._is_encrypted:
            self._writer.write(b"N")
            return
        if self._reader._buffer:  # type: ignore[attr-defined]  # noqa: SLF001 - what came before is not encrypted
            raise m.ProtocolError("bytes were received before encryption")
        self._writer.write(b"S")
        await self._drain()
        await self._writer.start_tls(self._shared.tls)
        self._is_encrypted = True

    @staticmethod
    def _startup_settings(content: bytes) -> dict[str, str]:
        reader, given = m.Reader(content), {}
        while key := reader.text():
            given[key] = reader.text()
        return given

    async def _authenticate(self) -> None:
        verifier = self._shared.verifier
        if verifier is None:
            return
        exchange = scram.Exchange(verifier)
        self._writer.write(m.authentication(10, m.text(scram.MECHANISM) + b"\0"))
        await self._drain()
        try:
            reader = m.Reader(await self._password_message())
            reader.text()  # the mechanism: there is one only
            challenge = exchange.first(reader.octets(max(reader.int32(), 0)))
            self._writer.write(m.authentication(11, challenge))
            await self._drain()
            proof = exchange.last(await self._password_message())
        except scram.ScramError:
            raise SqlError("28P01", "password authentication failed") from None
        self._writer.write(m.authentication(12, proof))

    async def _password_message(self) -> bytes:
        kind, content = await self._receive(m.STARTUP_BYTES_MAX)
        if kind != b"p":
            raise m.ProtocolError("a password was expected")
        return content

    # Messages.

    async def _receive(self, length_max: int = m.MESSAGE_BYTES_MAX) -> tuple[bytes, bytes]:
        kind = await self._reader.readexactly(1)
        (length,) = struct.unpack("!i", await self._reader.readexactly(4))
        if not 4 <= length <= length_max:
            raise m.ProtocolError(f"a message may have {length_max} bytes")
        return kind, await self._reader.readexactly(length - 4)

    async def _drain(self) -> None:
        async with asyncio.timeout(_SEND_SECONDS):
            await self._writer.drain()

    async def _handle(self, kind: bytes, content: bytes) -> bool:
        """Handle a message; return whether the connection goes on."""
        if kind == b"X":
            return False
        if self._skips and kind != b"S":
            return True
        handlers: dict[bytes, Callable[[m.Reader], Awaitable[None]]] = {
            b"Q": self._on_query,
            b"P": self._on_parse,
            b"B": self._on_bind,
            b"D": self._on_describe,
            b"E": self._on_execute,
            b"C": self._on_close,
            b"S": self._on_sync,
            b"H": self._on_flush,
        }
        handler = handlers.get(kind)
        if handler is None:
            raise m.ProtocolError("a message of this kind is not understood")
        try:
            await self._guarded(handler, m.Reader(content))
        except SqlError as error:
            self._writer.write(m.error(error.state, error.what, error.detail, error.hint))
            if self._status == b"T":
                self._status = b"E"
            if kind == b"Q":
                self._writer.write(m.ready(self._status))
            else:
                self._skips = True
            await self._drain()
        return True

    async def _guarded(
        self, handler: Callable[[m.Reader], Awaitable[None]], reader: m.Reader
    ) -> None:
        """Handle a message; what goes wrong unexpectedly is an error of this statement only."""
        try:
            await handler(reader)
        except (SqlError, m.ProtocolError, OSError, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - the connection, and those of others, go on
            self._shared.log(f"statement: {type(error).__name__}: {error}")
            raise SqlError("XX000", f"internal error: {type(error).__name__}") from None

    async def _on_query(self, reader: m.Reader) -> None:
        found = statements(reader.text())
        if not found:
            self._writer.write(m.message(b"I"))
        for statement in found:
            result = await self._execute(statement)
            if result.columns is not None:
                self._describe_rows(result.columns, ())
                await self._send(result, (), 0, len(result.rows))
            self._writer.write(m.complete(result.tag))
        await self._on_sync(reader)

    async def _on_parse(self, reader: m.Reader) -> None:
        name, text = reader.text(), reader.text()
        given = [reader.int32() for _ in range(reader.count())]
        found = statements(text)
        if len(found) > 1:
            raise SqlError("42601", "a prepared statement is one statement")
        if len(self._prepared) >= _STATEMENTS_MAX:
            raise SqlError("54000", f"a connection has at most {_STATEMENTS_MAX} statements")
        statement = found[0] if found else ""
        oids = given + [0] * (parameter_count(statement) - len(given))
        self._prepared[name] = Prepared(statement, tuple(self._inferred(statement, oids)))
        self._writer.write(m.message(b"1"))

    def _inferred(self, statement: str, oids: Sequence[int]) -> Iterator[int]:
        """Yield the types of parameters; one that is compared with a column has the type of that."""
        names = compared_names(statement) if 0 in oids or UNKNOWN.oid in oids else {}
        types: dict[str, int] = {}
        if names:
            for schema in self._current_job().tables():
                for column in schema.columns:
                    types.setdefault(column.name, pg_type(column.type).oid)
        for number, oid in enumerate(oids, 1):
            yield oid if oid not in {0, UNKNOWN.oid} else types.get(names.get(number, ""), TEXT.oid)

    async def _on_bind(self, reader: m.Reader) -> None:
        portal, name = reader.text(), reader.text()
        prepared = self._prepared.get(name)
        if prepared is None:
            raise SqlError("26000", f'prepared statement "{name}" does not exist')
        forms = [reader.int16() for _ in range(reader.count())]
        values = []
        for _ in range(reader.count()):
            length = reader.int32()
            values.append(None if length < 0 else reader.octets(length))
        formats = tuple(reader.int16() for _ in range(reader.count()))
        if len(values) != len(prepared.oids):
            raise SqlError(
                "08P01", f"{len(prepared.oids)} parameters are needed, {len(values)} came"
            )
        if len(forms) == 1:
            forms *= len(values)
        forms += [0] * (len(values) - len(forms))
        try:
            literals = [
                literal(value, oid, form)
                for value, oid, form in zip(values, prepared.oids, forms, strict=True)
            ]
        except ParameterError as error:
            raise SqlError("22P02", str(error)) from None
        if len(self._portals) >= _STATEMENTS_MAX:
            raise SqlError("54000", f"a connection has at most {_STATEMENTS_MAX} portals")
        self._portals[portal] = Portal(with_parameters(prepared.text, literals), formats)
        self._writer.write(m.message(b"2"))

    async def _on_describe(self, reader: m.Reader) -> None:
        kind, name = reader.octets(1), reader.text()
        if kind == b"S":
            prepared = self._prepared.get(name)
            if prepared is None:
                raise SqlError("26000", f'prepared statement "{name}" does not exist')
            self._writer.write(m.parameter_description(prepared.oids))
            nulls = [_null_of(oid) for oid in prepared.oids]
            columns = await self._columns(with_parameters(prepared.text, nulls))
            self._describe_rows(columns, ())
            return
        portal = self._portal(name)
        if portal.result is None:
            portal.result = await self._execute(portal.text)
        self._describe_rows(portal.result.columns, portal.formats)

    async def _columns(self, statement: str) -> tuple[tuple[str, PgType], ...] | None:
        match command_of(statement):
            case Command.QUERY:
                schema = await self._in_thread(describe, self._current_job(), statement)
                return tuple((column.name, pg_type(column.type)) for column in schema)
            case Command.CATALOG | Command.SHOW:
                return (await self._execute(statement)).columns
            case _:
                return None

    async def _on_execute(self, reader: m.Reader) -> None:
        portal, rows_max = self._portal(reader.text()), reader.int32()
        if portal.result is None:
            portal.result = await self._execute(portal.text)
        result = portal.result
        if not portal.text:
            self._writer.write(m.message(b"I"))
            return
        if result.columns is not None:
            stop = len(result.rows)
            if rows_max > 0:
                stop = min(portal.sent + rows_max, stop)
            await self._send(result, portal.formats, portal.sent, stop)
            portal.sent = stop
            if stop < len(result.rows):
                self._writer.write(m.message(b"s"))
                return
        self._writer.write(m.complete(result.tag))

    async def _on_close(self, reader: m.Reader) -> None:
        kind, name = reader.octets(1), reader.text()
        if kind == b"S":
            self._prepared.pop(name, None)
        else:
            self._portals.pop(name, None)
        self._writer.write(m.message(b"3"))

    async def _on_sync(self, reader: m.Reader) -> None:
        del reader
        self._skips = False
        if self._status == b"I":
            self._portals.clear()
        self._writer.write(m.ready(self._status))
        await self._drain()

    async def _on_flush(self, reader: m.Reader) -> None:
        del reader
        await self._drain()

    def _portal(self, name: str) -> Portal:
        portal = self._portals.get(name)
        if portal is None:
            raise SqlError("34000", f'portal "{name}" does not exist')
        return portal

    # Statements.

    def _current_job(self) -> JobResults:
        assert self._job is not None
        return self._job

    async def _execute(self, statement: str) -> Result:  # noqa: C901, PLR0911 - one case for each command
        command = command_of(statement)
        if self._status == b"E" and command not in {Command.COMMIT, Command.ROLLBACK}:
            what = "current transaction is aborted, commands ignored until end of transaction block"
            raise SqlError("25P02", what)
        match command:
            case Command.QUERY:
                return await self._query(statement)
            case Command.CATALOG:
                return await self._query_catalog(statement)
            case Command.SHOW:
                return self._show(statement)
            case Command.SET:
                self._set(statement)
                return Result("SET")
            case Command.BEGIN:
                self._status = b"T"
                return Result("BEGIN")
            case Command.COMMIT | Command.ROLLBACK:
                failed, self._status = self._status == b"E", b"I"
                return Result("ROLLBACK" if failed else _TAGS[command])
            case Command.WRITE:
                what = "cannot execute this statement in a read-only transaction"
                detail = "a running job is asked by SELECT; what it does is changed by fsql deploy"
                raise SqlError("25006", what, detail)
            case Command.IGNORED:
                return self._ignored(statement)
            case Command.EMPTY:
                return Result("")
            case Command.UNSUPPORTED:
                raise SqlError("42601", "the statement is not understood", hint="send one SELECT")

    def _ignored(self, statement: str) -> Result:
        words = statement.upper().split()
        if words[0] == "DEALLOCATE":
            name = words[-1]
            if name == "ALL":
                self._prepared.clear()
            else:
                self._prepared.pop(statement.rsplit(maxsplit=1)[-1].strip('"'), None)
        if words[0] == "DISCARD":
            self._prepared.clear()
            self._portals.clear()
            return Result("DISCARD ALL")
        return Result(words[0])

    def _show(self, statement: str) -> Result:
        setting = setting_of(statement)
        name = "" if setting is None else setting.name
        if name == POSITION:
            value = self._current_job().refresh().position
        elif name in self._settings:
            value = self._settings[name]
        else:
            raise SqlError("42704", f'unrecognized configuration parameter "{name}"')
        return Result("SHOW", ((name, TEXT),), [(value,)])

    def _set(self, statement: str) -> None:
        setting = setting_of(statement)
        if setting is None:
            return
        value = _SETTINGS.get(setting.name, "") if setting.value is None else setting.value
        if setting.name == "client_encoding" and value.upper().replace("-", "") not in {
            "UTF8", "UNICODE",
        }:  # fmt: skip
            raise SqlError("22023", "the encoding of clients is UTF8")
        if setting.name == "timezone" and value.upper() not in {"UTC", "ETC/UTC", "GMT", "Z"}:
            # Times are sent with their offset, which is that of UTC, whatever a client would like.
            value = "UTC"
        if len(self._settings) < _STATEMENTS_MAX:
            self._settings[setting.name] = value[:1000]
        if setting.name in _REPORTED:
            self._writer.write(m.parameter_status(_REPORTED[setting.name], value))

    async def _query(self, statement: str) -> Result:
        at_least = self._settings.get(AT_LEAST) or None
        found = await self._in_thread(
            answer, self._current_job(), statement, self._shared.limits, at_least
        )
        self._writer.write(m.parameter_status(POSITION, found.position))
        columns = tuple((column.name, pg_type(column.type)) for column in found.columns)
        values = await self._in_thread(_values_of, found.rows)
        return Result(f"SELECT {found.rows.num_rows}", columns, values)

    async def _query_catalog(self, statement: str) -> Result:
        job = self._current_job()
        names = self._shared.jobs.names()
        catalog = self._shared.catalogs.get(job.name)
        if catalog is None or catalog.is_outdated(job, names):
            catalog = self._shared.catalogs[job.name] = Catalog(job, job.name, names)
        try:
            found = await self._in_thread(catalog.query, statement, dict(self._settings))
        except CatalogError as error:
            raise SqlError("0A000", f"the catalog does not have this: {error}") from None
        return Result(f"SELECT {len(found.rows)}", tuple(found.columns), found.rows)

    async def _in_thread(self, work: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._shared.executor, work, *arguments)
        except FsqlError as error:
            raise sql_error(error) from None

    # Rows.

    def _describe_rows(
        self, columns: tuple[tuple[str, PgType], ...] | None, formats: Sequence[int]
    ) -> None:
        if columns is None:
            self._writer.write(m.message(b"n"))
            return
        described = [m.ResultColumn(name, kind.oid, kind.length) for name, kind in columns]
        self._writer.write(m.row_description(described, _all_formats(formats, len(columns))))

    async def _send(self, result: Result, formats: Sequence[int], start: int, stop: int) -> None:
        assert result.columns is not None
        chosen = _all_formats(formats, len(result.columns))
        encoders = [
            binary_encoder(kind) if form else text_encoder(kind)
            for (_, kind), form in zip(result.columns, chosen, strict=True)
        ]
        count, waiting = len(encoders), 0
        for row in result.rows[start:stop]:
            data = m.data_row(
                (
                    None if value is None else encode(value)
                    for encode, value in zip(encoders, row, strict=True)
                ),
                count,
            )
            self._writer.write(data)
            waiting += len(data)
            if waiting > _SEND_BYTES:
                waiting = 0
                await self._drain()


def _all_formats(formats: Sequence[int], count: int) -> list[int]:
    if len(formats) == 1:
        return [formats[0]] * count
    return [*formats, *[0] * (count - len(formats))][:count]


def _values_of(rows: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - an Arrow table
    if not rows.num_columns:
        return [()] * rows.num_rows
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


_NULL_TYPES: Final = {
    16: "BOOLEAN", 20: "BIGINT", 21: "SMALLINT", 23: "INT", 700: "FLOAT", 701: "DOUBLE", 1082: "DATE",
    1083: "TIME", 1114: "TIMESTAMP", 1184: "TIMESTAMP", 1700: "DECIMAL(38, 10)",
}  # fmt: skip


def _null_of(oid: int) -> str:
    """Return a value without content of a parameter's type, with which a statement is described."""
    return f"CAST(NULL AS {_NULL_TYPES.get(oid, 'STRING')})"


_STATES: Final = (
    ("E672", "0A000"),
    ("E673", "54000"),
    ("E675", "55000"),
    ("E201", "42P01"),
    ("E202", "42703"),
    ("E1", "42601"),
    ("E2", "42000"),
    ("E3", "0A000"),
    ("E4", "42000"),
    ("E5", "22000"),
)


def sql_error(error: FsqlError) -> SqlError:
    """Return what a client is told of an error."""
    first = error.diagnostics[0]
    state = next((state for code, state in _STATES if first.code.startswith(code)), "XX000")
    detail = "; ".join(first.notes)
    return SqlError(state, f"{first.message} (FSQL-{first.code})", detail, "; ".join(first.helps))
