"""Trees as text, drawn with lines; a shared subtree is named once, and then referred to by its name.

r0 := Filter price > 100
└─ Scan bids
Insert into first
│  changes: append
└─ r0
"""

from __future__ import annotations

from fsql.compiler.records import dataclass


@dataclass(frozen=True, slots=True)
class Tree:
    """A headline, lines of detail, and the subtrees."""

    headline: str
    details: tuple[str, ...] = ()
    below: tuple[Tree, ...] = ()


def draw(tree: Tree) -> list[str]:
    """Return the lines of `tree`."""
    lines: list[str] = []
    # An explicit stack is used because a tree may be deeper than the limit of recursion.
    waiting = [(tree, "", "")]
    while waiting:
        node, branch, margin = waiting.pop()
        bar = "│" if node.below else " "
        lines.append(f"{branch}{node.headline}")
        lines += [f"{margin}{bar}  {detail}" for detail in node.details]
        children = [(child, f"{margin}├─ ", f"{margin}│  ") for child in node.below[:-1]]
        children += [(child, f"{margin}└─ ", f"{margin}   ") for child in node.below[-1:]]
        waiting += reversed(children)
    return lines
