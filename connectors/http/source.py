"""The source of connector `http`: read directly, or through its front log in a job that keeps state."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.addresses import listen_error, loopback
from fsql.connectors.live.live_splits import live_split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.connectors.http.request_inflow import RequestInflow
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split

_PACKAGES: Final = ("starlette", "uvicorn", "h11")
_BACKLOG: Final = 128


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the records of requests as a split.

    Raises:
        FsqlError: E531, if the server is not installed; E531, E533 or E534, if the options are not valid.
    """
    _check_packages()
    loopback(settings.text("address"))
    _check_path(settings.text("path"))
    _token(settings, context)
    return [live_split("http", table, settings, context)]


def open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> RequestInflow:
    """Listen at the address of the table.

    Raises:
        FsqlError: E531, E533 or E534, if it cannot be listened on.
    """
    from fsql.connectors.http.request_inflow import LoggedRequestInflow, RequestInflow
    from fsql.connectors.http.request_server import Rules

    host, port = loopback(settings.text("address"))
    rules = Rules(
        settings.text("path"),
        _token(settings, context),
        settings.number("max_request_bytes"),
        "json" in settings.text("format"),
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise listen_error("E531", f"{host}:{port}", error) from None
    if port == 0:
        where = f"http://{host}:{listening.getsockname()[1]}{rules.path}"
        context.on_notice(f'table "{table.name}" receives requests at {where}')
    inflow = RequestInflow if context.front_logs is None else LoggedRequestInflow
    return inflow(listening, rules)


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        message = f"connector 'http' needs packages that are not installed: {', '.join(missing)}"
        helps = ("install fsql with the extra http: pip install 'fsql[http]'",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)])


def _check_path(path: str) -> None:
    if not path.startswith("/") or any(each in "{}?#% " or not each.isprintable() for each in path):
        message = f"path '{path}' is refused: it is not the path of a URL"
        helps = ("write one such as '/clicks', without ? and #",)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])


def _token(settings: Settings, context: ConnectorContext) -> str | None:
    """Return the token in the file of the option, None without one.

    Raises:
        FsqlError: E531 or E533, if the file cannot be read; E534, if it has no token.
    """
    named = settings.optional("token_file")
    if named is None:
        return None
    path = context.resolve(named)
    try:
        token = path.read_text("ascii").strip()
    except OSError as error:
        raise paths.open_error("E531", path, error) from None
    except UnicodeDecodeError:
        token = ""
    if not token or not token.isprintable() or " " in token:
        message = f'the file "{path}" has no token'
        helps = ("write one of letters and digits, such as that of: openssl rand -hex 32",)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    return token
