"""The hint SKEW: the hot keys of joins, whose rows are divided among the workers.

`SKEW('t', 'k', 'a', 'b')` after SELECT says that many rows of relation t have k = 'a' or k = 'b'.  In each
inner join of which t.k is a key, the rows of t with these keys are divided, and those of the other side
copied: see `logical.HotKeys`.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import ColumnRef
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import HotKeys, append_only, may_tie
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import INTEGER_RANGES, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Join
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


PARTS: Final = 16
"""Into how many parts the rows of a hot key are divided.  Part of what a join is, so of its state."""
VALUES_MAX: Final = 100
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_WRITE: Final = "write the relation, the column and its frequent values: SKEW('t', 'k', 'value')"


@dataclass(frozen=True, slots=True)
class Skew:
    """One hint: the names of a relation and of its column, in lower case, and the frequent values."""

    relation: str
    column: str
    values: tuple[syntax.QualifiedName, ...]


@dataclass(slots=True)
class SkewedJoin:
    """A hint, and how it was used: `joins` counts those that it divides, `reason` says why another is not."""

    skew: Skew
    span: Span
    joins: int = 0
    reason: str | None = None


@dataclass(slots=True)
class Skews:
    """The hints SKEW of one SELECT."""

    hints: list[SkewedJoin] = field(default_factory=list)

    def add(self, hint: syntax.Hint, report: Report) -> None:
        """Add a hint.

        Raises:
            Refusal: E118, if it has options or too many values.
        """
        names = [name.parts[-1].name.lower() for name in hint.arguments[:2]]
        if hint.options or any(len(name.parts) > 1 for name in hint.arguments):
            raise refusal("E118", "hint SKEW takes names and values", hint.span, help=_WRITE)
        values = hint.arguments[2:]
        if len(values) > VALUES_MAX:
            raise refusal(
                "E118",
                f"hint SKEW has {len(values)} values; the limit is {VALUES_MAX}",
                hint.span,
                help="keep the most frequent ones",
            )
        if not values:
            report.warn(_without_effect(hint.span, _WRITE))
            return
        self.hints.append(SkewedJoin(Skew(names[0], names[1], values), hint.span))

    def hot_keys(self, join: Join, left: Relation, right: Relation) -> HotKeys | None:
        """Return the hot keys of an inner join of two relations; None if no hint names them.

        Raises:
            Refusal: E118, if a value is none of the key's type.
        """
        for hint in self.hints:
            for side, (relation, keys) in enumerate(
                ((left, join.left_keys), (right, join.right_keys))
            ):
                number = _number_of_key(hint.skew, relation, keys)
                if number is None:
                    continue
                hint.reason = _obstacle(join, keys[number].type)
                if hint.reason is None:
                    hint.joins += 1
                    values = _values(hint.skew.values, keys[number].type)
                    return HotKeys(number, values, side, PARTS)
        return None

    def warn_unused(self, report: Report) -> None:
        """Warn of hints that have no effect."""
        for hint in self.hints:
            if not hint.joins:
                skew = hint.skew
                reason = f"{skew.relation}.{skew.column} is not a key of an inner join here"
                report.warn(_without_effect(hint.span, hint.reason or reason))


def _without_effect(span: Span, help_: str) -> Diagnostic:
    return Diagnostic("W203", "hint SKEW has no effect", Label(span), helps=(help_,))


def _number_of_key(skew: Skew, relation: Relation, keys: Sequence[Expression]) -> int | None:
    """Return the number of the key that is the column of a hint; None if the relation has no such key."""
    columns = {
        each.index
        for each in relation.fields
        if each.member is None
        and (each.qualifier or "").lower() == skew.relation
        and each.name.lower() == skew.column
    }
    for number, key in enumerate(keys):
        if isinstance(key, ColumnRef) and key.index in columns:
            return number
    return None


def _obstacle(join: Join, type_: SqlType) -> str | None:
    """Return why the rows of a key cannot be divided; None if they can."""
    if reason := obstacle_of_parts(join):
        return reason
    if any(map(fallible, (*join.left_keys, *join.right_keys))):
        return "a key of the join can fail, and copies of a row would fail several times"
    if type_.kind not in INTEGER_RANGES and type_.kind is not Kind.STRING:
        return "the key is neither an integer nor a STRING"
    return None


def obstacle_of_parts(join: Join) -> str | None:
    """Return why the rows of a join cannot be divided, whatever its keys are; None if they can."""
    if not (append_only(join.left) and append_only(join.right)):
        return "a side of the join retracts rows, so that each key has one worker"
    if may_tie(join.left) or may_tie(join.right):
        return "a side of the join has groups, whose rows share positions"
    return None


def _values(
    written: Sequence[syntax.QualifiedName], type_: SqlType
) -> tuple[int, ...] | tuple[str, ...]:
    """Return distinct values of a key.

    Raises:
        Refusal: E118.
    """
    texts = {each.parts[0].name: each.span for each in written}
    if type_.kind is Kind.STRING:
        return tuple(texts)
    low, high = INTEGER_RANGES[type_.kind]
    for text, span in texts.items():
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise refusal("E118", f"{text!r} is not a value of the key, which is a {type_}", span)
    return tuple(dict.fromkeys(map(int, texts)))
