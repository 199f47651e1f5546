"""Dataclasses of `records` mean what those of the standard library mean."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler import records

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = [
    {"frozen": frozen, "slots": slots, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
]


def classes(decorate: Any, kind: dict[str, bool]) -> tuple[Any, Any]:
    """Return a class, and one derived from it, by a decorator of dataclasses."""

    @decorate(**kind)
    class Base:
        """A base."""

        span: int = dataclasses.field(compare=False)
        name: str

    @decorate(**kind)
    class Derived(Base):
        """A class with all kinds of fields."""

        items: list[int] = dataclasses.field(default_factory=list)
        secret: str = dataclasses.field(default="s", repr=False)
        total: int = dataclasses.field(init=False, default=0)
        label: str = dataclasses.field(init=False, default="none")

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", len(self.items))

    return Base, Derived


def outcome(call: Callable[[], object]) -> object:
    """Return what a call returns, or the kind and the text of its error."""
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_classes_are_those_of_the_standard_library(kind: dict[str, bool]) -> None:
    def outcomes(decorate: Any) -> list[object]:
        base, derived = classes(decorate, kind)
        return [each for _ in range(20) for each in outcomes_of(base, derived)]

    def outcomes_of(base: Any, derived: Any) -> list[object]:
        one, other = derived(1, "a", [1, 2]), derived(span=2, name="a", items=[1, 2])
        return [
            repr(one),
            (one == other, one != other, one == base(1, "a"), base(1, "a") == base(3, "a")),
            kind["eq"] and outcome(lambda: base(1, "a").__hash__() == base(2, "a").__hash__()),
            outcome(lambda: one.__hash__() == object.__hash__(one)),
            repr(dataclasses.replace(one, name="b", items=[])),
            [field.name for field in dataclasses.fields(one)],
            derived.__match_args__,
            derived(1, "a").items is not derived(1, "a").items,
            outcome(lambda: setattr(one, "name", "c")),
            outcome(lambda: setattr(one, "else", 1)) if not kind["slots"] else None,
            outcome(lambda: delattr(one, "name")),
            outcome(lambda: derived(1)),
            outcome(lambda: derived(1, "a", unknown=1)),
            repr(copy.copy(other)),
            hasattr(one, "__dict__"),
        ]

    assert outcomes(records.dataclass) == outcomes(dataclasses.dataclass)


@records.dataclass(frozen=True, slots=True)
class Pair:
    """Two values, at the top of a module."""

    left: int
    right: int = 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and self.left == other.left

    def __hash__(self) -> int:
        return self.left


def test_methods_of_the_class_itself_are_kept() -> None:
    assert Pair(1, 2) == Pair(1, 3)
    assert (Pair(7).__hash__(), repr(Pair(7))) == (7, "Pair(left=7, right=2)")
