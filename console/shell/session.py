"""The session of a shell: its declarations, and statements compiled with them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.parser import parse_script
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText
from fsql.job.compilation import compile_job
from fsql.job.inspections import listings
from fsql.job.memory import Memory
from fsql.job.planning import RunOptions
from fsql.job.script import Script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.compiler.inspections import Listing
    from fsql.job.compilation import Compiled

_NAME: Final = "<shell>"


@dataclass(slots=True)
class ShellSession:
    """The declarations so far, the directory for relative paths, and the folders of functions."""

    directory: Path
    parameters: Mapping[str, str]
    functions: tuple[Path, ...] = ()
    declarations: list[str] = field(default_factory=list)

    def compile_statement(self, text: str) -> Compiled:
        """Return a statement compiled after the declarations.

        Raises:
            FsqlError: for errors in the statement, with their spans in it.
        """
        memory = Memory("\n;\n".join(self.declarations), {}) if self.declarations else None
        script = Script(
            SourceText(_NAME, text),
            self.parameters,
            self.directory,
            used_stdin=True,
            memory=memory,
            functions=self.functions,
        )
        return compile_job(script, may_be_empty=True)

    def statement(self, text: str) -> syntax.Statement:
        """Return the syntax of a statement.

        Raises:
            FsqlError: E1xx; E314, if it is not allowed in a shell.
        """
        source = SourceText(_NAME, text)
        (statement,) = parse_script(source, self.parameters).statements
        if isinstance(statement, syntax.CreateTable) and statement.query is not None:
            message = "CREATE TABLE AS is not allowed in the shell"
            helps = ("create the table with its columns, then INSERT INTO it",)
            label = Label(statement.query.span)
            raise FsqlError([Diagnostic("E314", message, label, helps=helps)], source)
        return statement

    def declare(self, text: str) -> Compiled:
        """Add a declaration to the session; return it compiled.

        Raises:
            FsqlError: for errors in it.
        """
        compiled = self.compile_statement(f"{text}\n;\nSHOW TABLES")
        self.declarations.append(text)
        return compiled

    def lists(self, text: str) -> tuple[Compiled, list[Listing]]:
        """Return the results of SHOW, DESCRIBE and EXPLAIN in a text.

        Raises:
            FsqlError: for errors in it.
        """
        compiled = self.compile_statement(text)
        return compiled, listings(compiled, RunOptions())

    def names(self) -> dict[str, list[str]]:
        """Return the tables and views with their columns."""
        _, (tables,) = self.lists("SHOW TABLES")
        names = [str(row[0]) for row in tables.rows]
        if not names:
            return {}
        quoted = [name.replace('"', '""') for name in names]
        _, described = self.lists(";\n".join(f'DESCRIBE "{name}"' for name in quoted))
        columns = ([str(row[0]) for row in listing.rows] for listing in described)
        return dict(zip(names, columns, strict=True))


def own_warnings(compiled: Compiled) -> list[Diagnostic]:
    """Return the warnings about a statement only; those about declarations have been shown."""
    end = len(compiled.script.source.text)
    return [
        each for each in compiled.warnings if each.primary is None or each.primary.span.end <= end
    ]


def locate_error(error: FsqlError, compiled: Compiled) -> FsqlError:
    """Return an error with the text to which it points: the statement, or also the declarations."""
    end = len(compiled.script.source.text)
    labels = [label for each in error.diagnostics for label in (each.primary, *each.secondary)]
    if error.source is None or all(label is None or label.span.end <= end for label in labels):
        return error
    return FsqlError(error.diagnostics, compiled.syntax.source)
