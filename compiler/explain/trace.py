"""The firings of rewrite rules: for each the rule, and the node before and after it.

An operator is shown as a plan, an expression as SQL over columns that are named `$0`, `$1`, …: a rule is
applied to an expression without the operator whose input has names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.explain.expressions import expression_text
from fsql.compiler.explain.plan import logical_text, plan_text
from fsql.compiler.expression import Expression
from fsql.compiler.logical import Job, Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.node import Node
    from fsql.compiler.rules.driver import Firing


def trace_text(firings: Iterable[Firing]) -> str:
    """Return the firings in their order."""
    lines: list[str] = []
    for number, firing in enumerate(firings, 1):
        lines.append(f"{number}. {firing.rule}")
        lines += [f"  - {line}" for line in _node_lines(firing.before)]
        lines += [f"  + {line}" for line in _node_lines(firing.after)]
    return "\n".join(lines) + "\n" if lines else "no rule applies\n"


def _node_lines(node: Node) -> list[str]:
    match node:
        case Expression():
            return [expression_text(node, ())]
        case Plan():
            return plan_text(node).splitlines()
        case Job():
            return logical_text(node, details=False).splitlines()
        case _:
            raise AssertionError(node)
