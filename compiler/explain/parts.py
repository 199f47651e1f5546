"""The labelled parts of an operator: one description for text and for JSON.

In a line of text the parts follow the operator's name, each after its `word`; in JSON they are fields, each
with the name `field`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

PartValue = str | int | bool | None | tuple[str, ...] | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part. In text, None, False and the empty tuple are omitted, and True is only the word."""

    field: str
    word: str
    value: PartValue


def headline(name: str, parts: Iterable[Part]) -> str:
    """Return the operator in one line: `Aggregate by word; compute COUNT(*) AS n`."""
    texts = [text for part in parts if (text := _text(part))]
    return f"{name} {'; '.join(texts)}" if texts else name


def fields(parts: Iterable[Part]) -> dict[str, PartValue]:
    """Return the parts as the fields of a JSON object."""
    return {part.field: part.value for part in parts}


def _text(part: Part) -> str:
    match part.value:
        case None | False | ():
            return ""
        case True:
            return part.word
        case tuple():
            return f"{part.word} {', '.join(map(str, part.value))}".strip()
        case value:
            return f"{part.word} {value}".strip()
