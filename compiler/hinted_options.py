"""The hint OPTIONS: `t /*+ OPTIONS('rate' = '5') */` is table t with other options, for this statement.

Each is a table of its own, declared before the statement by CREATE TABLE … LIKE t; its name has the options.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.syntax.rewrite import records, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS: Final = "OPTIONS"
_Declare: TypeAlias = (
    "Callable[[syntax.QualifiedName, tuple[syntax.Hint, ...]], syntax.QualifiedName]"
)


def declare_hinted(script: syntax.Script) -> syntax.Script:
    """Return the script with tables that have the options of hints in place of those with a hint.

    Raises:
        FsqlError: E118, for another hint after the name of a table.
    """
    if not any(_has_hint(statement) for statement in script.statements):
        return script
    known: set[str] = set()
    statements: list[syntax.Statement] = []

    def declare(name: syntax.QualifiedName, hints: tuple[syntax.Hint, ...]) -> syntax.QualifiedName:
        table, own = _hinted_table(name, hints, script)
        if own.name not in known:
            known.add(own.name)
            statements.append(table)
        return replace(name, parts=(own,))

    for statement in script.statements:
        changed = rewrite(statement, lambda record: _without_hints(record, declare))
        statements.append(changed)
    return replace(script, statements=tuple(statements))


def _has_hint(statement: syntax.Statement) -> bool:
    return any(
        isinstance(each, syntax.TableReference | syntax.Insert) and each.hints
        for each in records(statement)
    )


def _hinted_table(
    name: syntax.QualifiedName, hints: tuple[syntax.Hint, ...], script: syntax.Script
) -> tuple[syntax.CreateTable, syntax.Identifier]:
    """Return the declaration of a table with hints, and its name."""
    options: list[syntax.TableOption] = []
    for hint in hints:
        if hint.name.name.upper() != _OPTIONS or hint.arguments:
            written = hint.name.name.upper()
            message = f"hint {written} is not allowed after the name of a table"
            help_ = f"write it after SELECT: SELECT /*+ {written}(…) */ …"
            if written == _OPTIONS:
                message, help_ = "hint OPTIONS takes options only", "write OPTIONS('key' = 'value')"
            raise FsqlError(
                [Diagnostic("E118", message, Label(hint.span), helps=(help_,))], script.source
            )
        options += hint.options
    base = name.parts[-1]
    text = ", ".join(f"'{each.key.value}' = '{each.value.value}'" for each in options)
    own = syntax.Identifier(base.span, f"{base.name} OPTIONS({text})", quoted=True)
    span = hints[0].span.to(hints[-1].span)
    return (
        syntax.CreateTable(
            span,
            syntax.QualifiedName(name.span, (own,)),
            (),
            options=tuple(options),
            like=syntax.LikeTable(name.span, name, of_hint=True),
        ),
        own,
    )


def _without_hints(record: syntax.Syntax, declare: _Declare) -> syntax.Syntax:
    """Return a table reference or an INSERT with the table that `declare` returns for its hints."""
    if isinstance(record, syntax.TableReference) and record.hints:
        base = record.name.parts[-1]
        alias = record.alias or syntax.TableAlias(base.span, base)
        return replace(record, name=declare(record.name, record.hints), alias=alias, hints=())
    if isinstance(record, syntax.Insert) and record.hints:
        return replace(record, table=declare(record.table, record.hints), hints=())
    return record
