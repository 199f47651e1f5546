"""The arguments of FROM_CHANGELOG and TO_CHANGELOG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import Refusal, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.text.source import Span

FROM_CHANGELOG: Final = "FROM_CHANGELOG"
TO_CHANGELOG: Final = "TO_CHANGELOG"

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    FROM_CHANGELOG: ("INPUT", "OP", "OP_MAPPING", "ERROR_HANDLING"),
    TO_CHANGELOG: ("INPUT", "OP", "OP_MAPPING", "PRODUCES_FULL_DELETES"),
}
_FORMS: Final[Mapping[str, str]] = {
    FROM_CHANGELOG: (
        "write FROM_CHANGELOG(input => TABLE t PARTITION BY k, op => DESCRIPTOR(op),"
        " op_mapping => MAP['c', 'INSERT', 'd', 'DELETE'])"
    ),
    TO_CHANGELOG: (
        "write TO_CHANGELOG(input => TABLE t, op => DESCRIPTOR(op),"
        " op_mapping => MAP['INSERT, UPDATE_AFTER', 'u', 'DELETE', 'd'])"
    ),
}


def changelog_function(written: syntax.TableFunction) -> str | None:
    """Return which of the two functions a table function is; None for other functions."""
    name = written.name.parts[-1].name.upper()
    return name if name in _NAMES else None


def makes_changelog(written: syntax.Relation) -> bool:
    """Return whether a relation is a call of TO_CHANGELOG."""
    return isinstance(written, syntax.TableFunction) and changelog_function(written) == TO_CHANGELOG


def changelog_arguments(written: syntax.TableFunction) -> dict[str, object]:
    """Return the arguments by name; the input is a `syntax.TableArgument`.

    Raises:
        Refusal: E307.
    """
    function = changelog_function(written)
    assert function is not None
    return arguments_by_name(written, _NAMES[function], _FORMS[function])


def arguments_by_name(
    written: syntax.TableFunction, names: Sequence[str], form: str
) -> dict[str, object]:
    """Return the arguments of a call by name; INPUT is a `syntax.TableArgument`.

    `names` are in the order of arguments without names, `form` is help.

    Raises:
        Refusal: E307.
    """
    function = written.name.parts[-1].name.upper()

    def refused(what: str, span: Span) -> Refusal:
        return refusal("E307", f"invalid arguments of {function}: {what}", span, help=form)

    given: dict[str, object] = {}
    for index, argument in enumerate(written.arguments):
        name, value = names[min(index, len(names) - 1)], argument
        if isinstance(argument, syntax.NamedArgument):
            name, value = argument.name.name.upper(), argument.value
        if name not in names or name in given:
            *first, last = map(str.lower, names)
            raise refused(f"it takes {', '.join(first)} and {last}, each once", argument.span)
        given[name] = value
    if not isinstance(given.get("INPUT"), syntax.TableArgument):
        raise refused("its input must be a table, TABLE t or TABLE (SELECT …)", written.span)
    return given


def operation_name(function: str, written: object, span: Span) -> syntax.Identifier:
    """Return the name of the column with the operation: `op`, unless it is given by a DESCRIPTOR.

    Raises:
        Refusal: E307.
    """
    if written is None:
        return syntax.Identifier(span, "op", quoted=False)
    if not isinstance(written, syntax.Descriptor) or len(written.columns) != 1:
        raise wrong_argument(function, "op must be a DESCRIPTOR of one column", span)
    return written.columns[0]


def mapping_pairs(function: str, written: object) -> tuple[list[tuple[str, str]], Span]:
    """Return the pairs of a MAP of constant texts, and its span.

    Raises:
        Refusal: E307.
    """
    assert isinstance(written, syntax.Syntax)
    texts = (
        [item.value for item in written.items if isinstance(item, syntax.StringLiteral)]
        if isinstance(written, syntax.MapConstructor)
        else []
    )
    count = len(written.items) if isinstance(written, syntax.MapConstructor) else 0
    if len(texts) < count or len(texts) % 2 or not texts:
        raise wrong_argument(function, "op_mapping must be a MAP of constant texts", written.span)
    return list(zip(texts[::2], texts[1::2], strict=True)), written.span


def wrong_argument(function: str, what: str, span: Span) -> Refusal:
    """Return the refusal of an argument, with the form of the call."""
    return refusal("E307", f"invalid arguments of {function}: {what}", span, help=_FORMS[function])
