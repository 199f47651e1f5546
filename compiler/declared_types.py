"""CREATE TYPE: `CREATE TYPE address AS STRUCT<city STRING>`, and address is that type in later statements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.type_names import is_type_name
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.syntax.rewrite import rewrite

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_declared_types(script: syntax.Script) -> syntax.Script:
    """Return the script with the types that CREATE TYPE declares in place of their names.

    Raises:
        FsqlError: E205, if there is a type of that name; E216, if DROP TYPE names none.
    """
    if not any(isinstance(each, syntax.DeclaredType) for each in script.statements):
        return script
    declared: dict[str, syntax.CreateType] = {}
    statements: list[syntax.Statement] = []
    for statement in script.statements:
        changed = rewrite(statement, lambda record: _without_name(record, declared))
        match changed:
            case syntax.CreateType():
                _check_is_new(changed, declared, script)
                declared.setdefault(changed.name.name.upper(), changed)
            case syntax.DropType(name=name, if_exists=if_exists):
                if declared.pop(name.name.upper(), None) is None and not if_exists:
                    message = f'type "{name.name}" does not exist'
                    raise FsqlError([Diagnostic("E216", message, Label(name.span))], script.source)
            case _:
                statements.append(changed)
    return replace(script, statements=tuple(statements))


def _without_name(
    record: syntax.Syntax, declared: Mapping[str, syntax.CreateType]
) -> syntax.Syntax:
    """Return the type that a name stands for, at the place of the name; others as they are."""
    if not isinstance(record, syntax.TypeName) or record.numbers or record.arguments:
        return record
    found = declared.get(record.name)
    if found is None:
        return record
    return replace(found.type, span=record.span, not_null=record.not_null)


def _check_is_new(
    statement: syntax.CreateType,
    declared: Mapping[str, syntax.CreateType],
    script: syntax.Script,
) -> None:
    """Check that there is no type of a name yet.

    Raises:
        FsqlError: E205.
    """
    name = statement.name
    first = declared.get(name.name.upper())
    places: tuple[Label, ...] = ()
    if is_type_name(name.name.upper()):
        message = f'"{name.name}" is a type of the language'
    elif first is not None and not statement.if_not_exists:
        message = f'type "{name.name}" is declared more than once'
        places = (Label(first.name.span, "first here"),)
    else:
        return
    raise FsqlError(
        [Diagnostic("E205", message, Label(name.span), secondary=places)], script.source
    )
