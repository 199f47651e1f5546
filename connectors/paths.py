"""Paths that tables name: how they are resolved, and the errors if that fails.

A relative path is resolved in the directory of the script.  If `data_roots` are given, a path must be under
one of them after every link and `..` in it is resolved, so that users who can write a query cannot read or
write every file of the machine.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


FULL_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that end when there is space on a disk."""
OVERWRITE: Final = "and run it again with --overwrite"
"""What to do after a run without state has failed: it begins anew."""


def resolve(path: str, base_directory: Path, data_roots: Sequence[Path]) -> Path:
    """Return the resolved path.

    Raises:
        FsqlError: E533, if it is not under one of the data roots.
    """
    try:
        resolved = (base_directory / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise open_error("E531", path, _reason(error)) from None
    if data_roots and not any(resolved.is_relative_to(root.resolve()) for root in data_roots):
        roots = ", ".join(str(root) for root in data_roots)
        message = f'path "{path}" leads out of the data roots'
        note = f"it leads to {resolved}; the data roots are {roots}"
        raise FsqlError([Diagnostic("E533", message, notes=(note,))])
    return resolved


def open_error(code: str, path: str | Path, reason: OSError | str, *helps: str) -> FsqlError:
    """Return the error for a path that cannot be opened: E531 for reading, E532 for writing."""
    purpose = "read" if code == "E531" else "written"
    message = f'path "{path}" cannot be {purpose}: {_reason(reason)}'
    if isinstance(reason, OSError) and reason.errno in {errno.EMFILE, errno.ENFILE}:
        helps = ("raise the limit of open files: ulimit -n 65536", *helps)
    return FsqlError([Diagnostic(code, message, helps=helps)])


def io_error(
    action: str,
    path: str | Path,
    reason: OSError,
    *notes: str,
    run_again: str = "and run it again",
) -> FsqlError:
    """Return the error for a failed read or write; `notes` say what is in the file.

    `run_again` is what to do when a full disk has space.
    """
    message = f'{action} "{path}" failed: {_reason(reason)}'
    helps = (f"free space on its disk, {run_again}",) if reason.errno in FULL_DISK else ()
    return FsqlError([Diagnostic("E535", message, notes=notes, helps=helps)])


def similar_name_help(path: Path) -> tuple[str, ...]:
    """Return the help for a missing file: a file in its directory with a similar name."""
    if any(part.endswith(":") for part in path.parts):  # https://…, s3://…
        return ("only local files can be read: download it first",)
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        return (f'the directory "{path.parent}" does not exist or cannot be read',)
    name = near_name(path.name, [name for name in names if name != path.name])
    return () if name is None else (f'a file with a similar name exists: "{path.with_name(name)}"',)


def _reason(error: Exception | str) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error)
