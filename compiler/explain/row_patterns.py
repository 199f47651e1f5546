"""Row patterns in the form of SQL, for EXPLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.explain.literals import interval_text, name_text
from fsql.compiler.row_pattern import (
    NavigationKind,
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    SkipTo,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.row_pattern import Navigation, PatternPart, RowPattern

_TIMES = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def row_pattern_text(
    pattern: RowPattern,
    fields: Sequence[str],
    expression_text: Callable[[Expression, Sequence[str]], str],
) -> str:
    """Return the clauses of MATCH_RECOGNIZE; `fields` are the texts of the fields of a row."""
    names = [*fields, *(_navigation_text(each, pattern, fields) for each in pattern.navigations)]
    parts = []
    if pattern.measures:
        measures = ", ".join(_navigation_text(each, pattern, fields) for each in pattern.measures)
        parts.append(f"MEASURES {measures}")
    parts.append(f"AFTER MATCH SKIP {_skip_text(pattern)}")
    parts.append(f"PATTERN ({_part_text(pattern.pattern, pattern.names)})")
    if pattern.within_us is not None:
        parts.append(f"WITHIN {interval_text(pattern.within_us + 1)}")
    conditions = [
        f"{name_text(name)} AS {expression_text(condition, names)}"
        for name, condition in zip(pattern.names, pattern.conditions, strict=True)
        if condition is not None
    ]
    if conditions:
        parts.append(f"DEFINE {', '.join(conditions)}")
    return " ".join(parts)


def _skip_text(pattern: RowPattern) -> str:
    match pattern.skip_to:
        case SkipTo.PAST_LAST_ROW:
            return "PAST LAST ROW"
        case SkipTo.NEXT_ROW:
            return "TO NEXT ROW"
        case skip_to:
            return f"TO {skip_to.name} {_union_text(pattern.skip_variables, pattern)}"


def _union_text(variables: Sequence[int], pattern: RowPattern) -> str:
    return " | ".join(name_text(pattern.names[each]) for each in variables)


def _navigation_text(navigation: Navigation, pattern: RowPattern, fields: Sequence[str]) -> str:
    if navigation.kind in {NavigationKind.CLASSIFIER, NavigationKind.MATCH_NUMBER}:
        return f"{navigation.kind.value}()"
    read = "*" if navigation.field is None else fields[navigation.field]
    if navigation.variables:
        read = f"{_union_text(navigation.variables, pattern)}: {read}"
    offset = f", {navigation.offset}" if navigation.offset else ""
    return f"{navigation.kind.value}({read}{offset})"


def _part_text(part: PatternPart, names: Sequence[str], *, inside: bool = False) -> str:
    match part:
        case PatternVariable(variable=variable):
            return name_text(names[variable])
        case PatternSequence(parts=parts):
            text = " ".join(
                _part_text(each, names, inside=isinstance(each, PatternChoice)) for each in parts
            )
        case PatternChoice(parts=parts):
            text = " | ".join(_part_text(each, names) for each in parts)
        case _:
            assert isinstance(part, PatternRepeat)
            text = _part_text(part.part, names, inside=True) + _times_text(part)
            inside = inside and isinstance(part.part, PatternRepeat)
    return f"({text})" if inside else text


def _times_text(part: PatternRepeat) -> str:
    text = _TIMES.get((part.least, part.most))
    if text is None:
        most = "" if part.most is None else part.most
        text = f"{{{part.least}}}" if part.least == part.most else f"{{{part.least},{most}}}"
    return text if part.greedy else f"{text}?"
