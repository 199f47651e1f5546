"""The files that a path names: a single file, those of a directory, or those that match a pattern."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fsql.connectors import paths

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import FsqlError


class FoundFile(NamedTuple):
    """A file, and the name of its split."""

    name: str
    path: Path


def is_pattern(path: Path) -> bool:
    """Return whether a path is a pattern: it has `*`, `?` or `[`, and no file has that name."""
    return glob.has_magic(str(path)) and not path.exists()


def find_files(path: Path) -> list[FoundFile]:
    """Return the file, the files of the directory, or those that match the pattern, sorted by name.

    Of a directory, regular files that are not hidden are returned, but not those of its subdirectories.  A
    pattern does not match hidden files either; its files are named relative to the deepest directory that
    contains all of them.

    Raises:
        FsqlError: E531, if there is no such file.
    """
    try:
        found = list_files(path, pattern=is_pattern(path))
        if not found:
            raise _not_found_error(path)
        if found[0].path == path:
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        raise paths.open_error("E531", path, error) from None
    return found


def list_files(path: Path, *, pattern: bool) -> list[FoundFile]:
    """Return the files that a path names now, sorted by name, possibly none.

    Raises:
        OSError: if a directory cannot be read.
    """
    if pattern:
        return _match(path)
    if path.is_dir():
        names = sorted(entry.name for entry in os.scandir(path) if _counts(entry))
        return [FoundFile(name, path / name) for name in names]
    return [FoundFile(path.name, path)] if path.is_file() else []


def _not_found_error(path: Path) -> FsqlError:
    if is_pattern(path):
        return paths.open_error("E531", path, "no file matches it")
    if path.is_dir():
        help_ = "hidden files and directories within it are not read"
        return paths.open_error("E531", path, "the directory has no files", help_)
    if not path.exists():
        return paths.open_error(
            "E531", path, "there is no such file", *paths.similar_name_help(path)
        )
    help_ = "to read a stream, use 'connector' = 'stdin'"
    return paths.open_error("E531", path, "it is not a regular file", help_)


def pattern_root(pattern: Path) -> Path:
    """Return the deepest directory that contains all files that match a pattern."""
    parts = pattern.parts
    return Path(*parts[: next(index for index, part in enumerate(parts) if glob.has_magic(part))])


def _match(pattern: Path) -> list[FoundFile]:
    root = pattern_root(pattern)
    rest = str(pattern.relative_to(root))
    matches = glob.iglob(rest, root_dir=root, recursive=True)  # noqa: PTH207 - a Path's finds hidden files
    found = [root / each for each in matches]
    return sorted(
        FoundFile(path.relative_to(root).as_posix(), path) for path in found if path.is_file()
    )


def _counts(entry: os.DirEntry[str]) -> bool:
    return entry.is_file() and not entry.name.startswith(".")
