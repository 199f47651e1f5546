"""Errors of tasks as bytes: a task returns an error that the user can correct, instead of failing."""

from __future__ import annotations

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError


class _ErrorForm(msgspec.Struct, frozen=True, array_like=True):
    """A diagnostic of a task."""

    code: str
    message: str
    notes: tuple[str, ...]
    helps: tuple[str, ...]


def error_bytes(error: FsqlError) -> bytes:
    """Serialize an error."""
    forms = [_ErrorForm(d.code, d.message, d.notes, d.helps) for d in error.diagnostics]
    return msgspec.json.encode(forms)


def error_in(data: bytes) -> FsqlError:
    """Return the error that `error_bytes` has serialized."""
    forms = msgspec.json.decode(data, type=list[_ErrorForm])
    return FsqlError([Diagnostic(f.code, f.message, notes=f.notes, helps=f.helps) for f in forms])
