"""The files that a path names: one, those of a directory, or those that a pattern matches."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import NamedTuple

from fsql.connectors import paths


class FoundFile(NamedTuple):
    """A file, and the name of its split."""

    name: str
    path: Path


def is_pattern(path: Path) -> bool:
    """Return whether a path is a pattern: it has `*`, `?` or `[`, and no file has it for its name."""
    return glob.has_magic(str(path)) and not path.exists()


def find_files(path: Path) -> list[FoundFile]:
    """Return the file, the files of the directory, or those that match the pattern, sorted by name.

    Of a directory only its own regular files count, and none that is hidden.  A pattern matches no hidden
    files either; its files are named from the last directory that all of them are in.

    Raises:
        FsqlError: E531, if there is none.
    """
    try:
        if is_pattern(path):
            return _matching(path)
        if path.is_dir():
            names = sorted(entry.name for entry in os.scandir(path) if _counts(entry))
            if not names:
                help_ = "hidden files and directories within it are not read"
                raise paths.cannot_open("E531", path, "the directory has no files", help_)
            return [FoundFile(name, path / name) for name in names]
        if not path.exists():
            raise paths.cannot_open("E531", path, "there is no such file", *paths.near(path))
        if not path.is_file():
            help_ = "to read a stream, use 'connector' = 'stdin'"
            raise paths.cannot_open("E531", path, "it is not a regular file", help_)
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        raise paths.cannot_open("E531", path, error) from None
    return [FoundFile(path.name, path)]


def _matching(pattern: Path) -> list[FoundFile]:
    parts = pattern.parts
    fixed = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:fixed])
    matches = glob.iglob(str(Path(*parts[fixed:])), root_dir=root, recursive=True)  # noqa: PTH207 - a Path's finds hidden files
    found = [root / each for each in matches]
    files = [FoundFile(path.relative_to(root).as_posix(), path) for path in found if path.is_file()]
    if not files:
        raise paths.cannot_open("E531", pattern, "no file matches it")
    return sorted(files)


def _counts(entry: os.DirEntry[str]) -> bool:
    return entry.is_file() and not entry.name.startswith(".")
