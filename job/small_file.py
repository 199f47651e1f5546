"""Small files that a user writes by hand for a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.compiler.diagnostics import FsqlError


def read_small_file(path: Path, bytes_max: int, invalid: Callable[[str], FsqlError]) -> bytes:
    """Return the content of a file; never read more than `bytes_max + 1` bytes.

    Raises:
        FsqlError: as `invalid` returns it for a message, if the file cannot be read or is larger.
    """
    try:
        with path.open("rb") as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        raise invalid(f'"{path}" cannot be read: {error.strerror}') from None
    if len(data) > bytes_max:
        raise invalid(f'"{path}" is larger than {bytes_max:,} bytes')
    return data
