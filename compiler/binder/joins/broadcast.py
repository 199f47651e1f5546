"""The hints BROADCAST and FORWARD: which side of a join goes to all workers.

`BROADCAST('t')` after SELECT says that the side of a join with relation t goes to all workers;
`FORWARD('t')` that the rows of t stay where they are, so that the other side does.  A join whose rows are
joined once is then replicated (`tick_plan.Placement`).  A regular join keeps the rows of both sides by key:
one without equal keys, whose rows have all one key, is divided like that of a hot key (`logical.HotKeys`),
with the side copied to each part.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.joins.skew import PARTS, obstacle_of_parts
from fsql.compiler.binder.report import refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import Literal
from fsql.compiler.logical import HotKeys
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler import syntax
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.logical import Join
    from fsql.compiler.text.source import Span

BROADCASTS: Final = ("BROADCAST", "BROADCASTJOIN", "MAPJOIN")
FORWARD: Final = "FORWARD"
_LEFT, _RIGHT = 0, 1


@dataclass(slots=True)
class CopiedSide:
    """A relation of a hint, in lower case, and how the hint was used: see `skew.SkewedJoin`."""

    hint: str
    relation: str
    span: Span
    joins: int = 0
    reason: str | None = None

    def copied(self, left: Relation, right: Relation) -> int | None:
        """Return which side of a join the hint has on all workers; None if neither has the relation."""
        for side, relation in enumerate((left, right)):
            if any((each.qualifier or "").lower() == self.relation for each in relation.fields):
                return 1 - side if self.hint == FORWARD else side
        return None


@dataclass(slots=True)
class Broadcasts:
    """The hints BROADCAST and FORWARD of one SELECT."""

    hints: list[CopiedSide] = field(default_factory=list)

    def add(self, hint: syntax.Hint) -> None:
        """Add a hint.

        Raises:
            Refusal: E118, if it names no relation, or has options.
        """
        name = hint.name.name.upper()
        if hint.options or not hint.arguments:
            raise refusal(
                "E118",
                f"hint {name} takes names of tables",
                hint.span,
                help=f"write the table, or its alias: {name}('t')",
            )
        for each in hint.arguments:
            self.hints.append(CopiedSide(name, each.parts[-1].name.lower(), hint.span))

    def is_broadcast(self, left: Relation, right: Relation) -> bool:
        """Return whether the right of a join whose rows are joined once goes to all workers."""
        used = False
        for hint, copied in self._of(left, right):
            if copied == _LEFT:
                hint.reason = "of this join, only the right side can be on all workers"
            else:
                hint.joins += 1
                used = True
        return used

    def parts(self, join: Join, left: Relation, right: Relation) -> HotKeys | None:
        """Return how the rows of a regular join are divided; None if no hint says so."""
        for hint, copied in self._of(left, right):
            [*keys] = join.left_keys
            if not all(isinstance(key, Literal) for key in keys):
                hint.reason = (
                    "a regular join keeps the rows of both sides, by their keys; a hot key can be"
                    " divided by SKEW, and a side that is only looked up goes to all workers:"
                    " JOIN LATERAL SNAPSHOT(input => TABLE t) AS t ON …"
                )
                continue
            hint.reason = obstacle_of_parts(join)
            if hint.reason is None:
                hint.joins += 1
                key = keys[0]
                assert isinstance(key, Literal)
                assert isinstance(key.value, int)
                return HotKeys(0, (key.value,), 1 - copied, PARTS)
        return None

    def warn_unused(self, report: Report) -> None:
        """Warn of hints that have no effect."""
        for hint in self.hints:
            if not hint.joins:
                reason = f"no join here has a side with {hint.relation} that can be on all workers"
                report.warn(
                    Diagnostic(
                        "W203",
                        f"hint {hint.hint} has no effect",
                        Label(hint.span),
                        helps=(hint.reason or reason,),
                    )
                )

    def _of(self, left: Relation, right: Relation) -> Iterator[tuple[CopiedSide, int]]:
        for hint in self.hints:
            copied = hint.copied(left, right)
            if copied is not None:
                yield hint, copied
