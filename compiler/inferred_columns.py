"""Columns that a script does not declare: those of tables without columns, and of files in FROM.

A file in FROM is a table of its own, declared before the statement that first reads it; its name is the path.
Inferring columns reads the input, so the function for it is passed in from outside of the compiler.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeVar, cast

from fsql.compiler import syntax
from fsql.compiler.connectors import COMPRESSION_SUFFIXES
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.parser import parse_script
from fsql.compiler.surroundings import Inferred
from fsql.compiler.text.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.connectors import Declarations
    from fsql.compiler.text.source import Span

_Record = TypeVar("_Record", bound=syntax.Syntax)

_FORMATS: Final = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".tsv": "csv",
    ".txt": "text",
    ".log": "text",
}
"""Formats by the end of a path, in addition to the suffixes that the formats declare."""


def parse_declaration(text: str, span: Span) -> Inferred:
    """Return the columns and options of `(a INT) WITH ('b' = 'c')`, as if they stood at `span`."""
    source = SourceText("<inferred columns>", f"CREATE TABLE t {text}")
    (statement,) = parse_script(source, {}).statements
    assert isinstance(statement, syntax.CreateTable)
    columns = [each for each in statement.columns if isinstance(each, syntax.PhysicalColumn)]
    return Inferred(
        tuple(_at(each, span) for each in columns),
        tuple(_at(each, span) for each in statement.options),
    )


def declare_files(script: syntax.Script, declared: Declarations) -> syntax.Script:
    """Return the script with a CREATE TABLE before the statement that first reads a file in FROM.

    Raises:
        FsqlError: E225, if the format does not follow from the name of a file.
    """
    known: set[str] = set()
    statements: list[syntax.Statement] = []
    for statement in script.statements:
        for reference in _file_references(statement):
            path = reference.name.parts[0]
            if path.name not in known:
                known.add(path.name)
                options = file_options(path, (), script.source, declared)
                statements.append(
                    syntax.CreateTable(path.span, reference.name, (), options=options)
                )
        statements.append(statement)
    return replace(script, statements=tuple(statements)) if known else script


def file_options(
    path: syntax.Identifier,
    given: tuple[syntax.TableOption, ...],
    source: SourceText,
    declared: Declarations,
) -> tuple[syntax.TableOption, ...]:
    """Return the options of the table for a file in FROM: those that follow from its name, and then `given`.

    Raises:
        FsqlError: E225, if the format does not follow from the name, and is not given.
    """
    keys = {each.key.value.lower() for each in given}
    options = {"connector": "file", "path": path.name}
    if "format" not in keys:
        options["format"] = _format(path, source, declared)
        if _last_suffix(path) == ".tsv" and keys.isdisjoint({"delimiter", "csv.field-delimiter"}):
            options["delimiter"] = "\t"
    followed = [
        syntax.TableOption(
            path.span,
            syntax.StringLiteral(path.span, key),
            syntax.StringLiteral(path.span, value),
        )
        for key, value in options.items()
        if key not in keys
    ]
    return (*followed, *given)


def _format(path: syntax.Identifier, source: SourceText, declared: Declarations) -> str:
    last = _last_suffix(path)
    found = next((each.name for each in declared.formats if last in each.suffixes), None)
    name = found or _FORMATS.get(last)
    if name is None:
        message = f"the format of '{path.name}' cannot be inferred from its name"
        written = f"('connector' = 'file', 'path' = '{path.name}', 'format' = 'json')"
        helps = (
            f"write it after the path: '{path.name}' /*+ OPTIONS('format' = 'json') */",
            f"or declare a table: CREATE TABLE t WITH {written}",
        )
        raise FsqlError([Diagnostic("E225", message, Label(path.span), helps=helps)], source)
    return name


def _last_suffix(path: syntax.Identifier) -> str:
    """Return the last suffix of a path that is not that of a compression, "" if there is none."""
    suffixes = [
        suffix
        for suffix in PurePath(path.name.lower()).suffixes
        if suffix not in COMPRESSION_SUFFIXES
    ]
    return suffixes[-1] if suffixes else ""


def _file_references(
    statement: syntax.Statement,
) -> Iterator[syntax.TableReference | syntax.Describe]:
    """Yield what names files, in the order of the text."""
    stack: list[object] = [statement]
    while stack:
        value = stack.pop()
        if isinstance(value, syntax.TableReference | syntax.Describe) and value.is_file:
            yield value
        elif isinstance(value, tuple):
            stack += reversed(value)
        elif isinstance(value, syntax.Syntax):
            stack += reversed(syntax.parts(value))


def _at(record: _Record, span: Span) -> _Record:
    """Return a record with that span, and all records in it."""

    def move(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(move, value))
        if not isinstance(value, syntax.Syntax):
            return value
        changed = {
            each.name: move(getattr(value, each.name))
            for each in fields(value)
            if each.name != "span"
        }
        return replace(value, span=span, **changed)

    return cast("_Record", move(record))
