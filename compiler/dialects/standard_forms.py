"""The pass that writes the forms of other systems in the standard forms of this language."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import islice
from typing import Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.refusal import Refusal
from fsql.compiler.dialects.registry import CALLS, ITEMS, RELATIONS, WINDOW_FUNCTIONS, WINDOWS
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.item_names import written_name
from fsql.compiler.syntax.rewrite import records
from fsql.compiler.syntax.scalar_clauses import refuse_clauses, without_over

_GROWTH_MAX: Final = 16
_PARTS_MAX: Final = 10_000
"""A statement may become that many times as large, and have so many parts more."""
_OF_MATCH: Final = frozenset({"FIRST", "LAST"})
"""In MATCH_RECOGNIZE these are navigations in a match, and not aggregates."""


def with_standard_forms(script: syntax.Script) -> syntax.Script:
    """Return the script in standard forms; a form that is wrong becomes an expression that is refused.

    A function that the script declares has its name from then on.
    """
    if not any(_form_name(each) for each in records(script)):
        return script
    declared: set[str] = set()
    statements: list[syntax.Statement] = []
    for statement in script.statements:
        changed = _Rewriting(frozenset(declared)).changed(statement)
        assert isinstance(changed, type(statement))
        if changed is not statement:
            _check_size(statement, changed, script)
        statements.append(changed)
        if isinstance(statement, syntax.CreateFunction):
            declared.add(statement.name.parts[-1].name.upper())
    return replace(script, statements=tuple(statements))


def _check_size(
    statement: syntax.Statement, changed: syntax.Statement, script: syntax.Script
) -> None:
    """Check that a statement does not grow without bound: a form inside of another may be there twice.

    Raises:
        FsqlError: E315.
    """
    most = _GROWTH_MAX * sum(1 for _ in records(statement)) + _PARTS_MAX
    if next(islice(records(changed), most, None), None) is not None:
        message = "calls of functions for which others stand are nested too deep"
        help_ = "compute the inner calls in a subquery in FROM, or in a view"
        label = Label(statement.span)
        raise FsqlError([Diagnostic("E315", message, label, helps=(help_,))], script.source)


def with_standard_windows(script: syntax.Script) -> syntax.Script:
    """Return the script with windows as values written as columns."""
    if not any(map(_calls_window, records(script))):
        return script
    made = WINDOWS.load()(script)
    assert isinstance(made, syntax.Script)
    return made


def _calls_window(record: syntax.Syntax) -> bool:
    return (
        isinstance(record, syntax.FunctionCall)
        and record.name.parts[-1].name.upper() in WINDOW_FUNCTIONS
    )


def _form_name(record: syntax.Syntax) -> str | None:
    """Return the name of a call that is in the table of forms; None for others."""
    match record:
        case syntax.FunctionCall(name=syntax.QualifiedName(parts=(called,))):
            name = called.name.upper()
            return name if name in CALLS or name in ITEMS else None
        case syntax.TableFunction(name=syntax.QualifiedName(parts=(called,))):
            name = called.name.upper()
            return name if name in RELATIONS else None
        case _:
            return None


@dataclass(slots=True)
class _Rewriting:
    """The rewriting of one statement, in which `declared` are names of functions of the script."""

    declared: frozenset[str]
    in_match: bool = False

    def changed(self, value: object) -> object:
        """Return a part of the statement in standard forms; itself if it has none of the others."""
        if isinstance(value, tuple):
            made = tuple(map(self.changed, value))
            return value if all(map(_is, made, value)) else made
        if not isinstance(value, syntax.Syntax):
            return value
        if isinstance(value, syntax.Select) and self._has_rows_in_items(value):
            rewritten = ITEMS["EXPLODE"].load()(value)
            assert isinstance(rewritten, syntax.Select)
            value = rewritten
        inside = self._inside(value)
        match inside:
            case syntax.FunctionCall():
                return self._call(inside)
            case syntax.TableFunction() if _form_name(inside) not in {None, *self.declared}:
                return RELATIONS[inside.name.parts[0].name.upper()].load()(inside) or inside
            case syntax.SelectItem(alias=None) if inside is not value:
                assert isinstance(value, syntax.SelectItem)
                return replace(inside, span=inside.span, name=written_name(value.expression))
            case _:
                return inside

    def _inside(self, record: syntax.Syntax) -> syntax.Syntax:
        """Return a record whose parts are in standard forms."""
        given = [(each.name, getattr(record, each.name)) for each in fields(record)]
        of_match = isinstance(record, syntax.MatchRecognize)
        parts: dict[str, object] = {}
        for name, part in given:
            if name == "span":
                continue
            outside, self.in_match = self.in_match, self.in_match or (of_match and name != "input")
            made = self.changed(part)
            self.in_match = outside
            if made is not part:
                parts[name] = made
        return replace(record, span=record.span, **parts) if parts else record

    def _call(self, call: syntax.FunctionCall) -> syntax.Expression:
        name = _form_name(call)
        form = None if name is None or name in self.declared else CALLS.get(name)
        if form is None or (self.in_match and name in _OF_MATCH):
            return call
        try:
            made = form.load()(call)
            if made is None:
                return call
            if form.scalar:
                refuse_clauses(call, form.name)
                if call.over is not None:
                    raise without_over(call, form.name)
        except Refusal as refused:
            return syntax.Refused(call.span, refused.diagnostic)
        assert isinstance(made, syntax.Expression)
        return made

    def _has_rows_in_items(self, select: syntax.Select) -> bool:
        """Return whether an item has a call that gives several rows."""
        named = (_form_name(each) for item in select.items for each in records(item))
        return any(name in ITEMS and name not in self.declared for name in named)


def _is(made: object, value: object) -> bool:
    return made is value
