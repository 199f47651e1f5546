"""Hints, `/*+ NAME(…) */`, and databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

_Argument = syntax.TableOption | syntax.StringLiteral | syntax.QualifiedName | syntax.NumberLiteral


def hints(_span: Span, *parts: Token | syntax.Hint | None) -> tuple[syntax.Hint, ...]:
    """Return `/*+ A(b), C */`."""
    return tuple(each for each in parts if isinstance(each, syntax.Hint))


def hint(span: Span, name: syntax.Identifier, *arguments: _Argument | None) -> syntax.Hint:
    """Return `A('b' = 'c')`, or `A(t, 'u', 1)`."""
    options: list[syntax.TableOption] = []
    others: list[syntax.QualifiedName] = []
    for argument in arguments:
        match argument:
            case syntax.TableOption():
                options.append(argument)
            case (
                syntax.StringLiteral(span=place, value=text)
                | syntax.NumberLiteral(span=place, text=text)
            ):
                others.append(syntax.QualifiedName.of(place, text))
            case syntax.QualifiedName():
                others.append(argument)
            case _:
                pass
    return syntax.Hint(span, name, tuple(options), tuple(others))


def use(span: Span, kind: Token | None, name: syntax.QualifiedName) -> syntax.Use:
    """Return `USE d`."""
    return syntax.Use(span, name, catalog=kind is not None and kind.kind == "CATALOG")


def create_database(
    span: Span,
    _kind: Token,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    _comment: syntax.StringLiteral | None,
    _options: tuple[syntax.TableOption, ...] | None,
) -> syntax.CreateDatabase:
    """Return `CREATE DATABASE d`; nothing depends on its comment and options."""
    return syntax.CreateDatabase(span, name, if_not_exists is not None)


def drop_database(
    span: Span, _kind: Token, if_exists: Token | None, name: syntax.QualifiedName
) -> syntax.DropDatabase:
    """Return `DROP DATABASE d`."""
    return syntax.DropDatabase(span, name, if_exists is not None)
