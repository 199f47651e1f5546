"""Hints after SELECT: STATE_TTL, SKEW, BROADCAST, FORWARD, and those that concern other systems only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.ddl.time_to_live import TimeToLive, read_duration
from fsql.compiler.binder.joins.broadcast import BROADCASTS, FORWARD, Broadcasts
from fsql.compiler.binder.joins.skew import Skews
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.bound.lifetimes import SideLifetimes
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.binder.context import Context
    from fsql.compiler.bound.lifetimes import Lifetime


STATE_TTL: Final = "STATE_TTL"
_SKEW: Final = "SKEW"
_PLANNED: Final = "the planner chooses; see fsql explain --stage tick"
_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("SHUFFLE_HASH", "SHUFFLE_MERGE", "MERGE", "NEST_LOOP"),
            *("SHUFFLE_REPLICATE_NL", "MULTI_JOIN", "COALESCE", "REPARTITION"),
            *("REPARTITION_BY_RANGE", "REBALANCE", "USE_HASH", "PARALLEL"),
        ),
        _PLANNED,
    ),
    "LOOKUP": "a table of a lookup join is read before all else",
}
_SETTING: Final = "or SET 'table.exec.state.ttl' = '1 d' before the query, and RESET after it"


def with_hints(select: syntax.Select, context: Context) -> Context:
    """Return the context for a SELECT with its hints.

    Raises:
        Refusal: E118, E205, E224, E301.
    """
    lifetimes: dict[str, Lifetime] = {}
    skews, broadcasts = Skews(), Broadcasts()
    for hint in select.hints:
        name = hint.name.name.upper()
        if name == STATE_TTL:
            lifetimes |= _lifetimes(hint, select)
        elif name == _SKEW:
            skews.add(hint, context.report)
        elif name in {*BROADCASTS, FORWARD}:
            broadcasts.add(hint)
        elif name in _WITHOUT_EFFECT:
            context.report.warn(
                Diagnostic(
                    "W203",
                    f"hint {name} has no effect",
                    Label(hint.span),
                    helps=(_WITHOUT_EFFECT[name],),
                )
            )
        else:
            raise _unknown(hint)
    if skews.hints or context.skews.hints:
        context = replace(context, skews=skews)
    if broadcasts.hints or context.broadcasts.hints:
        context = replace(context, broadcasts=broadcasts)
    if not lifetimes:
        return context
    return replace(context, time_to_live=_time_to_live(select, lifetimes))


def _time_to_live(select: syntax.Select, lifetimes: Mapping[str, Lifetime]) -> TimeToLive:
    """Return how long the state of a SELECT is kept.

    Raises:
        Refusal: E301.
    """
    _check_subqueries(select)
    names = list(_relation_names(select))
    first = next(iter(lifetimes.values()))
    missing = [name for name in names if name.lower() not in lifetimes]
    if missing:
        raise not_implemented(
            "STATE_TTL of a part of the tables in FROM",
            first.span,
            help=f"add '{missing[0]}' = '…', {_SETTING}",
        )
    if len({each.idle_us for each in lifetimes.values()}) == 1:
        return TimeToLive(first)
    if len(names) > 2 or select.group_by is not None or select.distinct:
        raise not_implemented(
            "STATE_TTL with several durations elsewhere than in a join of two tables",
            first.span,
            help=f"write one duration for all tables, {_SETTING}",
        )
    left, right = (lifetimes[name.lower()] for name in names)
    return TimeToLive(None, SideLifetimes(left.idle_us, right.idle_us, first.span))


def _check_subqueries(select: syntax.Select) -> None:
    """Check that no expression has a subquery, whose state the hint is not about.

    Raises:
        Refusal: E301.
    """
    stack: list[object] = [select]
    while stack:
        value = stack.pop()
        if isinstance(value, syntax.Subquery):
            raise not_implemented(
                "STATE_TTL together with a subquery in an expression",
                value.span,
                help=f"write the SELECT without it as a view, {_SETTING}",
            )
        if isinstance(value, tuple):
            stack += value
        elif isinstance(value, syntax.Syntax):
            stack += syntax.parts(value)


def _lifetimes(hint: syntax.Hint, select: syntax.Select) -> dict[str, Lifetime]:
    """Return the durations of STATE_TTL by the names of relations, in lower case.

    Raises:
        Refusal: E118, E205, E224.
    """
    if hint.arguments or not hint.options:
        raise refusal(
            "E118",
            "hint STATE_TTL takes a duration for each table",
            hint.span,
            help="write STATE_TTL('t' = '1 d')",
        )
    known = list(_relation_names(select))
    found: dict[str, Lifetime] = {}
    for option in hint.options:
        name = option.key.value
        if name.lower() not in {each.lower() for each in known}:
            near = near_name(name, known)
            raise refusal(
                "E118",
                f'hint STATE_TTL names "{name}", which is not a table of FROM',
                option.key.span,
                note=f"FROM has {names_text(known)}" if known else None,
                help=f'a table with a similar name is there: "{near}"' if near else None,
            )
        if name.lower() in found:
            raise refusal("E205", f'"{name}" is twice in STATE_TTL', option.key.span)
        lifetime = read_duration(
            option.value.value, option.value.span, f'the time to live of "{name}"'
        )
        if lifetime is None:
            raise not_implemented(
                "STATE_TTL that keeps rows forever", option.value.span, help="remove the hint"
            )
        found[name.lower()] = lifetime
    return found


def _relation_names(select: syntax.Select) -> Iterator[str]:
    """Yield the names of the relations of FROM.

    Raises:
        Refusal: E301, for relations that have no name here.
    """
    for relation in select.relations:
        joins = relation.joins if isinstance(relation, syntax.Joined) else ()
        first = relation.first if isinstance(relation, syntax.Joined) else relation
        for each in (first, *(join.right for join in joins)):
            if not isinstance(each, syntax.TableReference | syntax.TableFunction):
                raise not_implemented(
                    "STATE_TTL together with a subquery in FROM",
                    each.span,
                    help=f"write the subquery as a view, {_SETTING}",
                )
            yield each.name.parts[-1].name if each.alias is None else each.alias.name.name


def _unknown(hint: syntax.Hint) -> Exception:
    name = hint.name.name.upper()
    if name == "OPTIONS":
        return refusal(
            "E118",
            "hint OPTIONS is not allowed after SELECT",
            hint.span,
            help="write it after the name of the table: FROM t /*+ OPTIONS('key' = 'value') */",
        )
    known = (*_WITHOUT_EFFECT, *BROADCASTS, FORWARD, STATE_TTL, _SKEW, "OPTIONS")
    near = near_name(name, known)
    return refusal(
        "E118",
        f"hint {name} does not exist",
        hint.span,
        help=f"a hint with a similar name exists: {near}"
        if near
        else "remove it, or write /* … */ for a comment",
    )
