"""`@fsql.program`: what a class declares, and what is refused when it is declared."""

from __future__ import annotations

from typing import Any

import pytest

from fsql.programs.declaration import is_program, program, program_of
from fsql.programs.program import Fork

PARTS: dict[str, Any] = {
    "state": "BIGINT",
    "columns": ["n BIGINT"],
    "tag": "ROW<kind STRING, k BIGINT>",
}


class Plain:
    """A program that counts the events of each key."""

    def init(self) -> dict[int, int]:
        return {}

    def update(self, state: Any, tag: Any, row: Any) -> Any:
        count = state.get(tag["k"], 0) + row["n"]
        return {**state, tag["k"]: count}, [(count,)]

    def depends(self, tag: Any, other: Any) -> bool:
        return bool(tag["k"] == other["k"])


class Divided(Plain):
    """A program whose states divide."""

    def fork(self, state: Any, left: Any, right: Any) -> Any:
        del left, right
        return state, {}

    def join(self, left: Any, right: Any) -> Any:
        return {**left, **right}


class OfTwo:
    """A program with two state types."""

    def init(self) -> int:
        return 0

    def update(self, kind: str, state: int, tag: Any, row: Any) -> Any:
        del tag, row
        return state + 1, [(kind, state)]

    def depends(self, tag: Any, other: Any) -> bool:
        return "sum" in {tag, other}

    def accepts(self, kind: str, tag: Any) -> bool:
        return (kind, tag) == ("part", "add")

    def fork(self, kinds: Any, state: int, left: Any, right: Any) -> Any:
        del left, right
        return (state, 0) if kinds[1:] == ("part", "part") else (0, state)

    def join(self, kinds: Any, left: int, right: int) -> int:
        del kinds
        return left + right


def test_a_class_with_one_state_type() -> None:
    made = program_of(program(**PARTS, key=["k"])(Divided))
    assert is_program(Divided)
    assert (made.name, made.tag, made.key, made.columns) == (
        "Divided",
        "ROW<kind STRING, k BIGINT>",
        ("k",),
        ("n BIGINT",),
    )
    assert [(each.name, each.type) for each in made.states] == [("state", "BIGINT")]
    assert made.forks == (Fork(0, 0, 0),)
    tag = {"kind": "i", "k": 1}
    assert made.key_of(tag) == (1,)
    assert made.update(0, made.init(), tag, {"n": 2}) == ({1: 2}, [(2,)])
    assert made.depends(tag, {"kind": "r", "k": 1})
    assert made.fork(made.forks[0], {1: 2}, lambda _: True, lambda _: False) == ({1: 2}, {})
    assert made.join(made.forks[0], {1: 2}, {2: 3}) == {1: 2, 2: 3}
    assert made.update_batch is None


def test_a_class_without_fork_does_not_divide() -> None:
    made = program_of(program(**PARTS)(type("Whole", (Plain,), {})))
    assert not made.divides
    assert made.forks == ()


def test_a_class_with_several_state_types_is_told_their_names() -> None:
    states = {"whole": "BIGINT", "part": "BIGINT"}
    forks = [("whole", "part", "part"), ("part", "part", "part")]
    made = program_of(program(state=states, columns=["n BIGINT"], tag="STRING", forks=forks)(OfTwo))
    assert made.forks == (Fork(0, 1, 1), Fork(1, 1, 1))
    assert [each.accepts("add") for each in made.states] == [True, True]
    assert [each.accepts("sum") for each in made.states] == [True, False]
    assert made.update(1, 4, "add", {}) == (5, [("part", 4)])
    assert made.fork(made.forks[0], 4, lambda _: True, lambda _: True) == (4, 0)
    assert made.join(made.forks[0], 4, 3) == 7


def refused(of_class: type[Any], **parts: Any) -> str:
    with pytest.raises(TypeError) as caught:
        program_of(program(**{**PARTS, **parts})(of_class))
    return str(caught.value)


def test_parts_that_do_not_fit() -> None:
    assert (
        refused(Plain, state="") == 'state is an SQL type, or several by name: {"whole": "BIGINT"}'
    )
    assert refused(Plain, state={}) == 'state has no type: state="BIGINT"'
    assert refused(Plain, columns="n BIGINT") == (
        'columns is a list with a name and a type each: ["k BIGINT"]'
    )
    assert refused(Plain, columns=["n"]) == "column 'n' is not a name and a type: \"k BIGINT\""
    assert refused(Plain, tag=" ") == 'tag is an SQL type: "ROW<kind STRING, k BIGINT>"'
    assert refused(Plain, key="k") == 'key is a list of fields of the tag: ["k"]'
    assert refused(Plain, key=["k", "k"]) == "key has a field twice: k, k"
    assert (
        refused(Plain, key=["k"], tag="STRING") == "key has fields, and the tag STRING is not a ROW"
    )
    assert refused(Divided, forks=["ab"]) == 'fork \'ab\' is not ("whole", "left", "right")'
    assert refused(Divided, forks=[("state", "a", "state")]) == (
        "fork ('state', 'a', 'state'): \"a\" is not a state type: state"
    )
    assert refused(Divided, forks=[("state", "state", "state")] * 2) == "a fork is listed twice"
    two = {"whole": "INT", "part": "INT"}
    assert refused(OfTwo, state=two) == (
        'several state types need forks: forks=[("whole", "part", "part")]'
    )


def test_methods_that_do_not_fit() -> None:
    def without(name: str) -> type[Any]:
        return type("Made", (Divided,), {name: None})

    def changed(name: str, method: Any) -> type[Any]:
        return type("Made", (Divided,), {name: method})

    async def later(self: Any) -> None:
        del self

    def fails(self: Any) -> None:
        del self
        raise ValueError("no luck")

    assert refused(without("init")) == "program Made has no method init: def init(self)"
    assert (
        refused(without("join")) == "program Made has no method join: def join(self, left, right)"
    )
    assert refused(changed("update", lambda self: self)) == (
        "Made.update takes other parameters: def update(self, state, tag, row)"
    )
    assert refused(changed("update_batch", lambda self: self)) == (
        "Made.update_batch takes other parameters: def update_batch(self, state, tag, rows)"
    )
    assert refused(changed("init", later)) == "Made.init is asynchronous: def init(self)"
    assert refused(changed("__init__", fails)) == "Made cannot be created: no luck"
    assert refused(OfTwo) == (
        "OfTwo.update takes other parameters: def update(self, state, tag, row)"
    )
    with pytest.raises(TypeError, match="a program is a class"):
        program(**PARTS)(print)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="Undeclared is not a program; write @fsql"):
        program_of(type("Undeclared", (), {}))
