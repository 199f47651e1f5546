"""Checks that the packages of the servers are installed."""

from __future__ import annotations

from importlib.util import find_spec

from fsql.compiler.diagnostics import Diagnostic, FsqlError

_PACKAGES = ("duckdb", "starlette", "uvicorn")


def check_packages() -> None:
    """Check that they are.

    Raises:
        FsqlError: E674, if one is missing.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        message = f"fsql serve needs packages that are not installed: {', '.join(missing)}"
        helps = ("install them with the extra of fsql: pip install 'fsql[serve]'",)
        raise FsqlError([Diagnostic("E674", message, helps=helps)])
