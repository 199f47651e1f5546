"""The client of PostgreSQL: the package `psycopg`, how it connects, and its errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.properties import properties_of
from fsql.runtime.sink import SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import Any

    import psycopg

    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings

CONNECT_SECONDS: Final = 10
"""How long a server is waited for."""
_SESSION: Final = {
    "client_encoding": "UTF8",
    "connect_timeout": str(CONNECT_SECONDS),
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
_PARAMETERS: Final = (
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, YMD"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
    ("statement_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
)
"""What texts of values depend on, and what a role may have set that would end long statements."""
SET_PARAMETERS: Final = "; ".join(f"SET {name} = '{value}'" for name, value in _PARAMETERS)
_PASSWORDS: Final = re.compile(r"pass(word|wd)?$", re.IGNORECASE)
_FULL_DISK: Final = "53100"
_PASSING: Final = ("08", "40", "53", "57", "58", "XX")
"""Classes of errors after which another attempt may succeed."""
_PASSING_CODES: Final = frozenset({"25006", "25P03", "55006", "55P03"})
"""The same: a server that became a standby, a session that timed out, a lock that is not free."""
_MEANINGS: Final[Mapping[str, str]] = {
    "22": "a value does not fit its column: give the column of the database another type, or cast the value",
    "23502": "write the column, give it a default in the database, or leave out rows without a value",
    "23503": "write the table that is referred to first, or drop the foreign key",
    "23505": "the rows are not unique: declare PRIMARY KEY (…) NOT ENFORCED, so that rows of a key replace"
    " each other, or drop the constraint",
    "23514": "leave out such rows, with WHERE, or change the constraint",
    "42501": "let the owner grant the role what it needs: GRANT SELECT, INSERT, UPDATE, DELETE ON the table;"
    " for a table that is created, and that of positions, GRANT CREATE ON SCHEMA public",
    "42703": "let the table have the columns that CREATE TABLE declares",
    "42P01": "create the table, or write 'create' = 'true'",
}


def psycopg_module() -> ModuleType:
    """Return the package of the client.

    Raises:
        FsqlError: E531, if it is not installed.
    """
    try:
        import psycopg
    except ImportError:
        message = "connector 'postgres' needs the package psycopg, which is not installed"
        helps = ("install fsql with the extra postgres: pip install 'fsql[postgres]'",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)]) from None
    return psycopg


class TableName(NamedTuple):
    """A table of the database; `schema` is "" for the first of the search path that has it."""

    schema: str
    name: str

    def __str__(self) -> str:
        """Return the name as options have it."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def sql(self) -> str:
        """Return the name as statements have it."""
        return ".".join(quoted(part) for part in self if part)


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Database:
    """A database, and how it is reached; `url` and `properties` are those of the options."""

    url: str
    properties: Mapping[str, str]

    def __repr__(self) -> str:
        """Return the place: the properties may have a password."""
        return f"Database({self.place!r})"

    @property
    def place(self) -> str:
        """Return where the database is, for messages: without user and password."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}" or "localhost"

    def connect(self, name: str, **parameters: str) -> psycopg.Connection[Any]:
        """Return a connection that commits each statement on its own; `name` is shown by the server.

        Raises:
            psycopg.Error: if there is none.
        """
        client = psycopg_module()
        given = {**_SESSION, **self.properties, "application_name": name, **parameters}
        in_url = client.conninfo.conninfo_to_dict(self.url)
        given |= {key: value for key, value in in_url.items() if key in _SESSION}
        connection: psycopg.Connection[Any] = client.Connection.connect(
            self.url, autocommit=True, **given
        )
        try:
            if "replication" not in parameters:
                connection.execute(SET_PARAMETERS)
        except BaseException:
            connection.close()
            raise
        return connection


def database_of(settings: Settings, context: ConnectorContext) -> Database:
    """Return the database of a table.

    Raises:
        FsqlError: E531 or E533, if the file of properties cannot be read; E534, if an option is not valid.
    """
    url = settings.text("url")
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        message = "option 'url' is not the URL of a PostgreSQL database"
        form = "write it as postgresql://USER@HOST:PORT/DATABASE"
        raise FsqlError([Diagnostic("E534", message, helps=(form,))])
    if ":" in parts.netloc.rpartition("@")[0] or any(map(_PASSWORDS.search, parse_qs(parts.query))):
        message = "option 'url' has a password, which everybody could read who can read the script"
        in_file = (
            "put it into a file that only you can read, as a line password=…, and name the file:"
            " 'properties' = 'database.properties'"
        )
        in_environment = (
            "or into the environment: PGPASSWORD, or PGPASSFILE with the name of a password file"
        )
        helps = (in_file, in_environment)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    psycopg_module()
    return Database(url, properties_of(settings, context, _NAMES.__contains__))


_NAMES: Final = frozenset(
    {
        "user", "password", "passfile", "service", "require_auth", "channel_binding", "gssencmode",
        "krbsrvname", "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "target_session_attrs", "load_balance_hosts",
        "sslmode", "sslnegotiation", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl",
        "ssl_min_protocol_version", "ssl_max_protocol_version", "options",
    }
)  # fmt: skip


def table_name(text: str) -> TableName:
    """Return the table that an option names: `table` or `schema.table`, parts in double quotes if need be.

    Raises:
        FsqlError: E534, if it is no name.
    """
    parts = re.fullmatch(r'(?:("(?:[^"]|"")+"|[^".]+)\.)?("(?:[^"]|"")+"|[^".]+)', text)
    if parts is None:
        message = f"option 'table' is no name of a table: '{text}'"
        helps = ('write TABLE, SCHEMA.TABLE, or "SCHEMA"."TABLE"',)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    schema, name = parts.groups()
    return TableName(_name_of(schema or ""), _name_of(name))


def _name_of(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


# Errors.


def reason_of(error: psycopg.Error) -> str:
    """Return what the server or the client says, on one line and without the values of rows."""
    primary = error.diag.message_primary
    if primary:
        return primary
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def is_passing(error: psycopg.Error) -> bool:
    """Return whether another attempt may succeed: the connection, the server or a lock was not there."""
    code = error.sqlstate
    if code is None:
        return isinstance(error, psycopg_module().OperationalError)
    return code in _PASSING_CODES or code.startswith(_PASSING)


def remedies_of(error: psycopg.Error) -> Sequence[str]:
    """Return what to do about an error of the server."""
    code = error.sqlstate or ""
    help_ = _MEANINGS.get(code) or _MEANINGS.get(code[:2])
    return () if help_ is None else (help_,)


def not_opened_error(code: str, database: Database, error: psycopg.Error) -> FsqlError:
    """Return the error, with this code, of a server that cannot be reached or refuses the session."""
    message = f'the PostgreSQL database "{database.place}" cannot be used: {reason_of(error)}'
    return FsqlError([Diagnostic(code, message, helps=_opening_helps(error))])


def _opening_helps(error: psycopg.Error) -> tuple[str, ...]:
    text = str(error).lower()
    if "password" in text or "authentication" in text:
        return (
            (
                "put the password into a file of the option 'properties', as a line password=…, or into"
                " the environment: PGPASSWORD"
            ),
        )
    if "does not exist" in text:
        return ("correct the option 'url', or create the database and the role",)
    return ("check the option 'url', and that a server is running there",)


def failed_error(
    code: str, what: str, error: psycopg.Error, *, helps: Sequence[str] = ()
) -> FsqlError:
    """Return the error, with this code, of a statement that the server refuses."""
    detail = error.diag.message_detail
    notes = () if not detail else (detail,)
    message = f"{what} failed: {reason_of(error)}"
    return FsqlError([Diagnostic(code, message, notes=notes, helps=(*helps, *remedies_of(error)))])


def sink_error(what: str, error: psycopg.Error) -> SinkLostError | FsqlError:
    """Return the error of a sink: one after which another epoch may succeed, or E535."""
    if error.sqlstate == _FULL_DISK:
        return SinkDiskError(f"{what} failed: the disk of the server is full: {reason_of(error)}")
    if is_passing(error):
        return SinkLostError(f"{what} failed: {reason_of(error)}")
    return failed_error("E535", what, error)
