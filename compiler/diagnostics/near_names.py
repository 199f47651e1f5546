"""Near names: suggestions for a word that does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LENGTH_MAX: Final = 64
"""Longer words are not compared, because the time is proportional to the product of both lengths."""


def near_name(word: str, names: Iterable[str]) -> str | None:
    """Return the name of which `word` is most likely a misspelling, the first of equally likely ones.

    An edit adds, removes or replaces a letter, or swaps two; case is ignored. One edit is likely from three
    letters on, another for every four letters.

    >>> near_name("amnt", ["user_id", "amount", "at"])
    'amount'
    >>> near_name("SELCT", ["CREATE", "SELECT"])
    'SELECT'
    >>> near_name("x", ["y"]) is None
    True
    """
    slips_max = 0 if len(word) < 3 else min(3, 1 + len(word) // 4)
    best: tuple[int, str] | None = None
    for name in names:
        if abs(len(name) - len(word)) <= slips_max and len(word) <= _LENGTH_MAX:
            slips = edit_distance(word.lower(), name.lower())
            if slips <= slips_max and (best is None or slips < best[0]):
                best = (slips, name)
    return best[1] if best else None


def edit_distance(left: str, right: str) -> int:
    """Return the minimum number of edits between the words: insert, delete, replace, swap neighbours.

    >>> edit_distance("FORM", "FROM"), edit_distance("amnt", "amount")
    (1, 2)
    """
    before: list[int] = []
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            best = min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]
