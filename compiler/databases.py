"""Databases: names before those of tables, `default_catalog.default_database.t`.

A name means one table, in whatever database it is: two databases cannot have tables of one name.  So a name
with a database that exists stands for the same name without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.file_names import names_file
from fsql.compiler.syntax.rewrite import records, rewrite

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

CATALOG: Final = "default_catalog"
DATABASE: Final = "default_database"

_PUBLIC: Final = "public"
"""Another name of the default database."""
_ONE_CATALOG: Final = "a script declares all tables that it uses"
_Named = (
    syntax.CreateTable
    | syntax.CreateView
    | syntax.CreateFunction
    | syntax.Drop
    | syntax.TableReference
    | syntax.Describe
    | syntax.ShowCreate
)


def without_databases(script: syntax.Script) -> syntax.Script:
    """Return the script with the names of tables without those of databases.

    Raises:
        FsqlError: E201, if a database does not exist, or does not have the table; E205, if it exists already;
            E314, if a database that is dropped has tables.
    """
    if not any(_is_qualified(each) for each in records(script)):
        return script
    resolver = _Resolver(script)
    return replace(script, statements=tuple(map(resolver.statement, script.statements)))


def _is_qualified(record: syntax.Syntax) -> bool:
    if isinstance(record, syntax.Use | syntax.CreateDatabase | syntax.DropDatabase):
        return True
    return isinstance(record, syntax.QualifiedName) and len(record.parts) > 1


class _Resolver:
    """The databases that exist after the statements so far, and the database of each table."""

    def __init__(self, script: syntax.Script) -> None:
        self._script = script
        self._databases = {DATABASE}
        self._current = DATABASE
        self._homes: dict[str, str] = {}

    def statement(self, statement: syntax.Statement) -> syntax.Statement:
        """Return a statement with plain names."""
        match statement:
            case syntax.Use(name=name, catalog=True):
                self._check_catalog(name.parts[0], name.span, len(name.parts) == 1)
            case syntax.Use(name=name):
                self._current = self._database(name)
            case syntax.CreateDatabase(name=name):
                self._create(statement)
            case syntax.DropDatabase():
                self._drop(statement)
            case _:
                return rewrite(statement, self._plain)
        return statement

    def _plain(self, record: syntax.Syntax) -> syntax.Syntax:
        """Return a record that names a table with the plain name."""
        if isinstance(record, syntax.Insert | syntax.LikeTable):
            return replace(record, table=self._name(record.table))
        if isinstance(record, syntax.TableArgument):
            if isinstance(record.table, syntax.QualifiedName):
                return replace(record, table=self._name(record.table))
            return record
        if isinstance(record, _Named) and not getattr(record, "is_file", False):
            declares = isinstance(record, syntax.CreateTable | syntax.CreateView)
            drops = isinstance(record, syntax.Drop)
            return replace(record, name=self._name(record.name, declares=declares, drops=drops))
        return record

    def _name(
        self, name: syntax.QualifiedName, *, declares: bool = False, drops: bool = False
    ) -> syntax.QualifiedName:
        *database, own = name.parts
        if len(database) == 2 and database[0].name.lower() != CATALOG:
            return name  # The binder refuses catalogs.
        if len(database) > 2:
            return name
        home = self._current
        if database:
            file = ".".join(part.name for part in name.parts)
            home = self._database(replace(name, parts=tuple(database)), file)
        if declares:
            self._homes[own.name.lower()] = home
        known = self._homes.get(own.name.lower(), home)
        if database and known != home:
            raise self._error(
                "E201",
                f'table "{home}.{own.name}" does not exist',
                name.span,
                f'it is in database "{known}": write {known}.{own.name}',
            )
        if drops:
            self._homes.pop(own.name.lower(), None)
        return replace(name, parts=(own,), in_database=True) if database else name

    def _database(self, name: syntax.QualifiedName, file: str = "") -> str:
        """Return the name of a database in lower case; the text `file` may be meant to be a file.

        Raises:
            FsqlError: E201.
        """
        *catalog, own = name.parts
        if catalog:
            self._check_catalog(catalog[0], name.span, len(catalog) == 1)
        if own.name.lower() == _PUBLIC:
            return DATABASE
        if own.name.lower() not in self._databases:
            near = near_name(own.name, sorted(self._databases))
            help_ = f"write CREATE DATABASE {own.name} before, or the name of the table only"
            if names_file(file):
                help_ = f"write a file in single quotes: '{file}'"
            elif near:
                help_ = f'a database with a similar name exists: "{near}"'
            raise self._error("E201", f'database "{own.name}" does not exist', own.span, help_)
        return own.name.lower()

    def _check_catalog(self, catalog: syntax.Identifier, span: Span, is_plain: bool) -> None:  # noqa: FBT001
        if catalog.name.lower() != CATALOG or not is_plain:
            raise self._error(
                "E201",
                f'catalog "{catalog.name}" does not exist',
                span,
                f"{_ONE_CATALOG}; the only catalog is {CATALOG}",
            )

    def _create(self, created: syntax.CreateDatabase) -> None:
        *catalog, own = created.name.parts
        if catalog:
            self._check_catalog(catalog[0], created.name.span, len(catalog) == 1)
        if own.name.lower() in self._databases and not created.if_not_exists:
            raise self._error(
                "E205",
                f'database "{own.name}" exists already',
                own.span,
                "remove the statement, or write CREATE DATABASE IF NOT EXISTS",
            )
        self._databases.add(own.name.lower())

    def _drop(self, dropped: syntax.DropDatabase) -> None:
        own = dropped.name.parts[-1]
        if dropped.if_exists and own.name.lower() not in self._databases:
            return
        database = self._database(dropped.name)
        tables = sorted(name for name, home in self._homes.items() if home == database)
        if tables or database == self._current:
            raise self._error(
                "E314",
                f'database "{own.name}" cannot be dropped: '
                + (f'it has table "{tables[0]}"' if tables else "it is the current one"),
                dropped.span,
                "remove the statement; databases exist only while their script runs",
            )
        self._databases.remove(database)

    def _error(self, code: str, message: str, span: Span, help_: str) -> FsqlError:
        return FsqlError(
            [Diagnostic(code, message, Label(span), helps=(help_,))], self._script.source
        )
