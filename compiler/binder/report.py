"""Refusals of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.diagnostics.refusal import Refusal as Refusal  # noqa: PLC0414 - exported
from fsql.compiler.diagnostics.refusal import not_implemented as not_implemented  # noqa: PLC0414 - exported
from fsql.compiler.diagnostics.refusal import refusal as refusal  # noqa: PLC0414 - exported

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.syntax import Identifier


def check_distinct(names: Iterable[Identifier], what: str, how: str = "declared") -> None:
    """Check that no name occurs twice, whatever its case.

    Raises:
        Refusal: E205.
    """
    seen: dict[str, Identifier] = {}
    for name in names:
        first = seen.setdefault(name.name.lower(), name)
        if first is not name:
            raise refusal(
                "E205",
                f'{what} "{name.name}" is {how} more than once',
                name.span,
                secondary=(Label(first.span, "first here"),),
            )


def no_column(
    name: Identifier,
    names: Sequence[str],
    *,
    label: str = "",
    note: str | None = None,
    text_help: bool = False,
    preferred_help: str | None = None,
) -> Refusal:
    """Return the refusal of a name that is not among the columns `names` (E203).

    With `text_help`, the help mentions string literals, because other dialects allow them in double quotes.
    `preferred_help` replaces the other helps.
    """
    near = near_name(name.name, names)
    help_ = f'a column with a similar name exists: "{near}"' if near else None
    if text_help and near is None:
        escaped = name.name.replace("'", "''")
        help_ = f"if it is a text, write it in single quotes: '{escaped}'"
    return refusal(
        "E203",
        f'column "{name.name}" does not exist',
        name.span,
        label,
        note=note,
        help=preferred_help or help_,
    )
