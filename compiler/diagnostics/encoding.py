"""Errors as JSON, for sending them between processes."""

from __future__ import annotations

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.text.source import SourceText, Span


class _Label(msgspec.Struct, frozen=True):
    start: int
    end: int
    message: str


class _Diagnostic(msgspec.Struct, frozen=True):
    code: str
    message: str
    primary: _Label | None
    secondary: tuple[_Label, ...]
    notes: tuple[str, ...]
    helps: tuple[str, ...]


class _Error(msgspec.Struct, frozen=True):
    diagnostics: tuple[_Diagnostic, ...]
    source: tuple[str, str] | None


def diagnostics_bytes(error: FsqlError) -> bytes:
    """Return an error as JSON."""
    diagnostics = tuple(
        _Diagnostic(
            each.code,
            each.message,
            None if each.primary is None else _label(each.primary),
            tuple(map(_label, each.secondary)),
            each.notes,
            each.helps,
        )
        for each in error.diagnostics
    )
    source = None if error.source is None else (error.source.name, error.source.text)
    return msgspec.json.encode(_Error(diagnostics, source))


def error_of(data: bytes) -> FsqlError:
    """Return the error that `diagnostics_bytes` encoded.

    Raises:
        msgspec.MsgspecError: if the bytes are not an error.
    """
    error = msgspec.json.decode(data, type=_Error)
    diagnostics = [
        Diagnostic(
            each.code,
            each.message,
            None if each.primary is None else _label_of(each.primary),
            tuple(map(_label_of, each.secondary)),
            each.notes,
            each.helps,
        )
        for each in error.diagnostics
    ]
    return FsqlError(diagnostics, None if error.source is None else SourceText(*error.source))


def _label(label: Label) -> _Label:
    return _Label(label.span.start, label.span.end, label.message)


def _label_of(label: _Label) -> Label:
    return Label(Span(label.start, label.end), label.message)
