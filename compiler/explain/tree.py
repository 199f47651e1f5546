"""Trees as text, drawn with lines; what several share is named once and referred to.

r0 := Filter price > 100
└─ Scan bids
Insert into first
│  changes: append
└─ r0
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tree:
    """A headline, lines of detail, and what hangs below."""

    headline: str
    details: tuple[str, ...] = ()
    below: tuple[Tree, ...] = ()


def draw(tree: Tree) -> list[str]:
    """Return the lines of `tree`."""
    bar = "│" if tree.below else " "
    lines = [tree.headline, *(f"{bar}  {detail}" for detail in tree.details)]
    for position, child in enumerate(tree.below, 1):
        last = position == len(tree.below)
        first, *others = draw(child)
        lines.append(f"{'└─' if last else '├─'} {first}")
        lines.extend(f"{'   ' if last else '│  '}{line}" for line in others)
    return lines
