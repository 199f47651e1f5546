"""The division of a statement into clauses, items and operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.formatter.pieces import LayoutToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.formatter.pieces import Element

BRANCH: Final = "branch"
"""Marks a word of CASE that begins a line."""
_QUERY_BEGINS: Final = frozenset({"SELECT", "WITH", "VALUES", "INSERT", "CREATE", "EXPLAIN"})
_CLAUSES: Final = frozenset({
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "STREAM_WINDOW", "QUALIFY", "ORDER", "LIMIT",
    "OFFSET", "FETCH", "EMIT", "UNION", "EXCEPT", "INTERSECT", "VALUES",
})  # fmt: skip
_OF_PATTERN: Final = frozenset({
    "PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "WITHIN", "SUBSET", "DEFINE",
})  # fmt: skip
"""The clauses of MATCH_RECOGNIZE."""
_JOINS: Final = frozenset({"conditional_join", "cross_join", "natural_join", "lateral_view"})
_HEADS: Final = frozenset({"DISTINCT", "ALL", "BY", "RECURSIVE"})
_BEFORE: Final = {"GROUP": ("WITHIN",), "FROM": ("DISTINCT",), "WINDOW": ("ON",)}
"""Words that do not begin a clause after these."""


def is_query(elements: Sequence[Element]) -> bool:
    """Return whether the elements are a statement, a query, or the clauses of MATCH_RECOGNIZE."""
    first = elements[0] if elements else None
    if _is_pattern(elements):
        return True
    if isinstance(first, LayoutToken):
        return first.kind in _QUERY_BEGINS
    return any(
        isinstance(each, LayoutToken) and each.kind in {"UNION", "EXCEPT", "INTERSECT"}
        for each in elements
    )


def clauses(elements: list[Element]) -> list[list[Element]]:
    """Divide a query into its clauses; joins are clauses, and so is the text before the query."""
    parts: list[list[Element]] = [[]]
    before = ""
    begins = _begins_of_pattern if _is_pattern(elements) else _begins_clause
    for number, element in enumerate(elements):
        if number and begins(element, before):
            parts.append([])
        parts[-1].append(element)
        before = element.kind if isinstance(element, LayoutToken) else ")"
    return [part for part in parts if part]


def _is_pattern(elements: Sequence[Element]) -> bool:
    """Return whether the elements are the clauses of MATCH_RECOGNIZE, which include DEFINE."""
    return any(isinstance(each, LayoutToken) and each.kind == "DEFINE" for each in elements)


def _begins_of_pattern(element: Element, _before: str) -> bool:
    return isinstance(element, LayoutToken) and element.kind in _OF_PATTERN


def _begins_clause(element: Element, before: str) -> bool:
    if not isinstance(element, LayoutToken):
        return before in {"UNION", "EXCEPT", "INTERSECT", "ALL"}
    if element.rules & _JOINS:
        return True
    if "common_tables" in element.rules:
        return True
    return element.kind in _CLAUSES and before not in _BEFORE.get(element.kind, ())


def split_head(elements: list[Element]) -> tuple[list[Element], list[Element]]:
    """Return the words that name a clause, and the rest of it."""
    at = 1
    while at < len(elements):
        element = elements[at]
        if not isinstance(element, LayoutToken) or element.kind not in _HEADS:
            break
        at += 1
    return elements[:at], elements[at:]


def item_splits(elements: Sequence[Element]) -> list[list[Element]]:
    """Split elements after each comma."""
    parts: list[list[Element]] = [[]]
    for element in elements:
        parts[-1].append(element)
        if isinstance(element, LayoutToken) and element.text == ",":
            parts.append([])
    return [part for part in parts if part]


def operand_splits(elements: Sequence[Element]) -> list[list[Element]]:
    """Split elements before each AND and OR, except the AND of BETWEEN, and those inside CASE."""
    parts: list[list[Element]] = [[]]
    between = depth = 0
    for element in elements:
        kind = element.kind if isinstance(element, LayoutToken) else ""
        if kind == "BETWEEN":
            between += 1
        elif kind == "CASE":
            depth += 1
        elif kind == "END" and depth:
            depth -= 1
        elif kind == "AND" and between:
            between -= 1
        elif kind in {"AND", "OR"} and not depth:
            parts.append([])
        parts[-1].append(element)
    return [part for part in parts if part]


def case_end(elements: Sequence[Element]) -> int:
    """Return the number of elements of the CASE with which the elements begin."""
    depth = 0
    for number, element in enumerate(elements):
        kind = element.kind if isinstance(element, LayoutToken) else ""
        depth += (kind == "CASE") - (kind == "END")
        if depth == 0:
            return number + 1
    return len(elements)


def mark_branches(elements: Sequence[Element]) -> None:
    """Mark the words of a CASE that begin lines: WHEN, ELSE and END."""
    depth = 0
    for element in elements:
        if not isinstance(element, LayoutToken):
            continue
        depth += element.kind == "CASE"
        if depth == 1 and element.kind in {"WHEN", "ELSE", "END"}:
            element.rules.add(BRANCH)
        depth -= element.kind == "END"
