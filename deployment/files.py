"""Small JSON files of a cluster directory: strictly validated, and replaced atomically."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.state.local_directory import sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

_Content = TypeVar("_Content")


def read_json(path: Path, kind: type[_Content]) -> _Content | None:
    """Return the content of a file, None if it does not exist.

    Raises:
        FsqlError: E632, if it cannot be read, or its content is not valid for this version.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.MsgspecError as error:
        raise file_error(path, str(error)) from None
    except OSError as error:
        raise system_error(path, error) from None


def write_json(path: Path, content: msgspec.Struct, *, durable: bool = True) -> None:
    """Replace a file as a whole; it is readable by its owner only.

    Raises:
        FsqlError: E632, if it cannot be written.
    """
    write_bytes(path, msgspec.json.encode(content) + b"\n", durable=durable)


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file as a whole; it is readable by its owner only.

    Raises:
        FsqlError: E632, if it cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(descriptor)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if durable:
            sync_directory(path.parent)
    except OSError as error:
        raise system_error(path, error) from None


def subdirectories(path: Path) -> Iterator[Path]:
    """Return the directories in a directory by name; none if it does not exist."""
    if path.is_dir():
        yield from sorted(each for each in path.iterdir() if each.is_dir())


def system_error(path: Path, error: OSError) -> FsqlError:
    """Return the error for a file of the cluster directory that the operating system refuses."""
    reason = (error.strerror or str(error)).lower()
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return file_error(path, reason, "free space on its disk")
    return file_error(path, reason)


def file_error(path: Path, reason: str, remedy: str | None = None) -> FsqlError:
    """Return the error for a file of the cluster directory that cannot be used."""
    message = f'"{path}" cannot be used: {reason}'
    return FsqlError([Diagnostic("E632", message, helps=(remedy or CODES["E632"].fix,))])
