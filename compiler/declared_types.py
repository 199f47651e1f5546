"""CREATE TYPE: `CREATE TYPE address AS STRUCT<city STRING>`, and address is that type in later statements."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.type_names import bind_type, is_type_name
from fsql.compiler.binder.report import Refusal
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.rewrite import records, rewrite
from fsql.compiler.text.limits import check_syntax

if TYPE_CHECKING:
    from fsql.compiler.text.source import SourceText

PARTS_MAX: Final = 10_000
"""The number of parts of all types in place of names: each name may stand for several that do, too."""
_RENAME: Final = "give it another name"


def with_declared_types(script: syntax.Script) -> syntax.Script:
    """Return the script with the types that CREATE TYPE declares in place of their names.

    Raises:
        FsqlError: E108 or E109, if types become too large; E205, if there is a type of that name; E216, if
            DROP TYPE names none.
    """
    if not any(isinstance(each, syntax.DeclaredType) for each in script.statements):
        return script
    types = _DeclaredTypes(script.source)
    statements: list[syntax.Statement] = []
    for statement in script.statements:
        changed = rewrite(statement, types.in_place_of)
        match changed:
            case syntax.CreateType():
                types.declare(changed)
            case syntax.DropType():
                types.drop(changed)
            case _:
                statements.append(changed)
    result = replace(script, statements=tuple(statements))
    check_syntax(result)
    return result


@dataclass(slots=True)
class _DeclaredTypes:
    """The types that a script has declared so far, by name in upper case."""

    source: SourceText
    by_name: dict[str, syntax.CreateType] = field(default_factory=dict)
    parts: int = 0

    def in_place_of(self, record: syntax.Syntax) -> syntax.Syntax:
        """Return the type that a name stands for, at the place of the name; others as they are.

        Raises:
            FsqlError: E109.
        """
        if not isinstance(record, syntax.TypeName) or record.numbers or record.arguments:
            return record
        found = self.by_name.get(record.name)
        if found is None:
            return record
        self.parts += sum(isinstance(each, syntax.TypeName) for each in records(found.type))
        if self.parts > PARTS_MAX:
            message = f"the types of CREATE TYPE have more than {PARTS_MAX:,} parts in all"
            raise FsqlError([Diagnostic("E109", message, Label(record.span))], self.source)
        return replace(found.type, span=record.span, not_null=record.not_null)

    def declare(self, statement: syntax.CreateType) -> None:
        """Add a type.

        Raises:
            FsqlError: E205; E216 and others that a type of a column has, also if nothing uses the name.
        """
        name = statement.name
        first = self.by_name.get(name.name.upper())
        if is_type_name(name.name.upper()):
            diagnostic = Diagnostic(
                "E205",
                f'"{name.name}" is a type of the language',
                Label(name.span),
                helps=(_RENAME,),
            )
            raise FsqlError([diagnostic], self.source)
        if first is not None and not statement.if_not_exists:
            diagnostic = Diagnostic(
                "E205",
                f'type "{name.name}" is declared more than once',
                Label(name.span),
                secondary=(Label(first.name.span, "first here"),),
                helps=("give it another name, or write DROP TYPE before it",),
            )
            raise FsqlError([diagnostic], self.source)
        try:
            bind_type(statement.type, "UTC")
        except Refusal as refused:
            raise FsqlError([refused.diagnostic], self.source) from None
        self.by_name.setdefault(name.name.upper(), statement)

    def drop(self, statement: syntax.DropType) -> None:
        """Remove a type.

        Raises:
            FsqlError: E216.
        """
        name = statement.name
        if self.by_name.pop(name.name.upper(), None) is None and not statement.if_exists:
            message = f'type "{name.name}" does not exist'
            help_ = "remove the statement, or write DROP TYPE IF EXISTS"
            raise FsqlError(
                [Diagnostic("E216", message, Label(name.span), helps=(help_,))], self.source
            )
