"""Files of one table whose columns differ, as those of several years do.

A column that a file lacks is NULL in its rows, if another file has it.  A type that is narrower than that of
the table is widened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.schema import Schema


class TypedFile(Protocol):
    """A file as a split, which may state its columns."""

    @property
    def name(self) -> str:
        """Return the name of the file."""

    def column_types(self) -> dict[str, str] | None:
        """Return the columns of the file with the names of their types; None if it does not state them.

        Raises:
            FsqlError: E531, E535 or E543, if they cannot be read.
        """

    def with_elsewhere(self, names: frozenset[str]) -> Self:
        """Return the split of one of several files, which have the columns with these names."""


FileT = TypeVar("FileT", bound=TypedFile)


def with_columns_of_all(files: Sequence[FileT]) -> Sequence[FileT]:
    """Return the files of a table, each of which knows the columns of all.

    Raises:
        FsqlError: E531, E535 or E543, if columns cannot be read.
    """
    columns = [file.column_types() for file in files]
    names = frozenset(name for of_file in columns for name in of_file or ())
    if all(of_file is None or names == of_file.keys() for of_file in columns):
        return files
    return [file.with_elsewhere(names) for file in files]


def file_differences(columns: Schema, files: Sequence[TypedFile]) -> Iterator[str]:
    """Yield in which of these columns of a table its files differ.

    Raises:
        FsqlError: E531, E535 or E543, if columns cannot be read.
    """
    known = [(file.name, types) for file in files if (types := file.column_types()) is not None]
    for column in columns:
        lacking = [name for name, types in known if column.name not in types]
        if lacking and len(lacking) < len(known):
            verb = "has" if len(lacking) == 1 else "have"
            yield f'"{column.name}" is NULL in {_listed(lacking)}, which {verb} no such column'
        files_of: dict[str, list[str]] = {}
        for name, types in known:
            if column.name in types:
                files_of.setdefault(types[column.name], []).append(name)
        if len(files_of) > 1:
            forms = ", ".join(f"{type_} in {_listed(names)}" for type_, names in files_of.items())
            yield f'"{column.name}" is {forms}, and is read as {column.type}'


def _listed(names: Sequence[str]) -> str:
    """Return the first of some names of files, and how many others there are."""
    others = len(names) - 1
    return f'"{names[0]}"' + (f" and {others} more" if others else "")
