"""The parse tree to syntax, during parsing: a function for each rule of grammar.lark.

When a rule is complete, the parser calls the function of that name with the rule's span and children:
records, tuples of records, `Token`s for the keywords that the grammar names, and None for missing clauses.
`builder` finds the function; the tests check that each rule has a function and each function a rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.dialects.registry import GRAMMAR
from fsql.compiler.parser.syntax_builder import (
    calls,
    case_and_cast,
    expressions,
    hints,
    json_wrappers,
    names,
    over,
    patterns,
    queries,
    relations,
    row_patterns,
    statements,
    tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OWN: Final[Mapping[str, Callable[..., object]]] = {
    name: function
    for module in (
        *(
            names,
            expressions,
            case_and_cast,
            calls,
            over,
            patterns,
            relations,
            row_patterns,
            queries,
            statements,
        ),
        *(tables, hints, json_wrappers),
    )
    for name, function in vars(module).items()
    if getattr(function, "__module__", None) == module.__name__ and not name.startswith("_")
}


def builder(rule: str) -> Callable[..., object]:
    """Return the function of a rule; that of a rule for a form of another system is in `dialects`."""
    own = _OWN.get(rule)
    return GRAMMAR[rule].load() if own is None else own


BUILT: Final = frozenset(_OWN) | frozenset(GRAMMAR)
"""The rules that have a function."""
