"""Limits on the text of a script, so that hostile text is refused early and in little memory.

The size of the text is checked first, the number of tokens and the depth of brackets in `lexer`, the depth
and the lists of the syntax when it is complete.  Parsing needs no recursion, and memory in proportion to
the tokens.
"""

from __future__ import annotations

from typing import Final, get_args

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

TEXT_BYTES_MAX: Final = 1 << 20
TOKENS_MAX: Final = 100_000
DEPTH_MAX: Final = 200
LIST_ITEMS_MAX: Final = 10_000

_LEAVES: Final = frozenset(
    get_args(syntax.Literal | syntax.ColumnReference | syntax.TableReference)
)
_NESTING: Final = (
    frozenset(get_args(syntax.Expression | syntax.Relation | syntax.TypeName)) - _LEAVES
)
"""The records that count for the depth.

The others are leaves, or are between two that count, or nest by brackets, which are counted already.
"""


def utf8_bytes(text: str) -> int:
    """Return how many bytes `text` has in UTF-8; lone surrogates count three."""
    return len(text.encode("utf-8", "surrogatepass"))


def check_syntax(script: syntax.Script) -> None:
    """Check how deep the records of `script` nest, and how long its lists are.

    Raises:
        FsqlError: E108 or E109.
    """
    stack: list[tuple[object, syntax.Syntax, int]] = [(script, script, 0)]
    while stack:
        value, owner, depth = stack.pop()
        if isinstance(value, tuple):
            if len(value) > LIST_ITEMS_MAX:
                raise FsqlError([_too_long(owner, len(value))], script.source)
            stack += [(item, owner, depth) for item in value]
        elif isinstance(value, syntax.Syntax):
            depth += type(value) in _NESTING
            if depth > DEPTH_MAX:
                raise FsqlError([_too_deep(value)], script.source)
            stack += [(part, value, depth) for part in syntax.parts(value)]


def _too_long(owner: syntax.Syntax, items_count: int) -> Diagnostic:
    message = f"the list has {items_count:,} items; the limit is {LIST_ITEMS_MAX:,}"
    help_ = "put the items into a table and join with it"
    return Diagnostic("E109", message, Label(owner.span), helps=(help_,))


def _too_deep(record: syntax.Syntax) -> Diagnostic:
    message = f"the script is nested more than {DEPTH_MAX} deep"
    help_ = "move inner queries to CREATE VIEW or WITH"
    return Diagnostic("E108", message, Label(record.span, f"depth {DEPTH_MAX + 1}"), helps=(help_,))
