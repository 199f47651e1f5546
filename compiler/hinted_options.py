"""The hint OPTIONS: `t /*+ OPTIONS('rate' = '5') */` is table t with other options, for this statement.

Each is a table of its own, declared before the statement by CREATE TABLE … LIKE t; its name has the options.
So is a file with a hint, by CREATE TABLE without columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.inferred_columns import file_options
from fsql.compiler.syntax.rewrite import records, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.connectors import Declarations

_OPTIONS: Final = "OPTIONS"
_Hinted: TypeAlias = "syntax.TableReference | syntax.Insert"
_Declare: TypeAlias = "Callable[[_Hinted], syntax.QualifiedName]"


def declare_hinted(script: syntax.Script, declared: Declarations) -> syntax.Script:
    """Return the script with tables that have the options of hints in place of those with a hint.

    Raises:
        FsqlError: E118, for another hint after the name of a table; E225, if the format does not follow from
            the name of a file.
    """
    if not any(_has_hint(statement) for statement in script.statements):
        return script
    known: set[str] = set()
    statements: list[syntax.Statement] = []

    def declare(hinted: _Hinted) -> syntax.QualifiedName:
        table = _hinted_table(hinted, script, declared)
        own = table.name.parts[0].name
        if own not in known:
            known.add(own)
            statements.append(table)
        return table.name

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
    hinted: _Hinted, script: syntax.Script, declared: Declarations
) -> syntax.CreateTable:
    """Return the declaration of a table, or file, with hints."""
    name = hinted.table if isinstance(hinted, syntax.Insert) else hinted.name
    options = _options(hinted.hints, script)
    base = name.parts[-1]
    text = ", ".join(f"'{each.key.value}' = '{each.value.value}'" for each in options)
    own = syntax.Identifier(base.span, f"{base.name} OPTIONS({text})", quoted=True)
    own_name = replace(name, parts=(own,))
    if isinstance(hinted, syntax.TableReference) and hinted.is_file:
        of_file = file_options(base, options, script.source, declared)
        return syntax.CreateTable(base.span, own_name, (), options=of_file)
    span = hinted.hints[0].span.to(hinted.hints[-1].span)
    like = syntax.LikeTable(name.span, name, of_hint=True)
    return syntax.CreateTable(span, own_name, (), options=options, like=like)


def _options(
    hints: tuple[syntax.Hint, ...], script: syntax.Script
) -> tuple[syntax.TableOption, ...]:
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
    return tuple(options)


def _without_hints(record: syntax.Syntax, declare: _Declare) -> syntax.Syntax:
    """Return a table reference or an INSERT with the table that `declare` returns for its hints."""
    if isinstance(record, syntax.TableReference) and record.hints:
        base = record.name.parts[-1]
        alias = record.alias or syntax.TableAlias(base.span, base)
        return replace(record, name=declare(record), alias=alias, hints=(), is_file=False)
    if isinstance(record, syntax.Insert) and record.hints:
        return replace(record, table=declare(record), hints=())
    return record
