"""The automaton of a pattern: a state for each occurrence of a variable, and the states after it.

    PATTERN (A B* C)       states A0 B1 C2       begin: A0      after A0, B1: B1, C2      after C2: the end

The next states are in the order of preference: a greedy quantifier prefers to continue, a reluctant one to
leave, an alternation its first part.  The part of a bounded quantifier is repeated.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

from fsql.compiler.records import dataclass
from fsql.compiler.row_pattern import (
    PatternChoice,
    PatternPart,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
)

END: Final = -1
"""The state of a complete match."""
STATES_MAX: Final = 1_000
"""The maximum number of states of an automaton."""
PAIRS_MAX: Final = 20_000
"""The maximum number of pairs of successive states: a row may cost a step for each."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """The variable of each state, the states in which a match may begin, and those after each state."""

    variables: tuple[int, ...]
    begin: tuple[int, ...]
    following: tuple[tuple[int, ...], ...]


def states_of(part: PatternPart) -> int:
    """Return how many states the automaton of `part` has."""
    match part:
        case PatternSequence(parts=parts) | PatternChoice(parts=parts):
            return sum(map(states_of, parts))
        case PatternRepeat(part=inner, least=least, most=most):
            return states_of(inner) * (least + 1 if most is None else most)
        case _:
            return 1


def automaton_of(pattern: PatternPart) -> Automaton:
    """Return the automaton of a pattern."""
    draft = _Draft()
    begin = draft.add(pattern, draft.add_jump(END))
    reached = {state: draft.states_from(after) for state, (_, after) in draft.variables.items()}
    number = {instruction: state for state, instruction in enumerate(sorted(reached))}
    number[END] = END
    return Automaton(
        tuple(draft.variables[instruction][0] for instruction in sorted(reached)),
        tuple(number[instruction] for instruction in draft.states_from(begin)),
        tuple(
            tuple(number[one] for one in reached[instruction]) for instruction in sorted(reached)
        ),
    )


@dataclass
class _Draft:
    """A program: each instruction takes a row and continues, or jumps to others in the order of preference.

    A repetition of an optional part that takes no row does not count: `entered` has the instructions where
    such a repetition begins, `left` those where it ends, each with its number.
    """

    jumps: dict[int, list[int]] = field(default_factory=dict)
    variables: dict[int, tuple[int, int]] = field(default_factory=dict)
    entered: dict[int, int] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)

    def add_jump(self, *targets: int) -> int:
        instruction = len(self.jumps) + len(self.variables)
        self.jumps[instruction] = [*targets]
        return instruction

    def add(self, part: PatternPart, then: int) -> int:
        """Add the instructions of a part that continues at `then`; return where it begins."""
        match part:
            case PatternVariable(variable=variable):
                instruction = len(self.jumps) + len(self.variables)
                self.variables[instruction] = variable, then
                return instruction
            case PatternSequence(parts=parts):
                for each in reversed(parts):
                    then = self.add(each, then)
                return then
            case PatternChoice(parts=parts):
                return self.add_jump(*(self.add(each, then) for each in parts))
            case _:
                assert isinstance(part, PatternRepeat)
                return self._repeat(part, then)

    def _repeat(self, part: PatternRepeat, then: int) -> int:
        begin = then
        if part.most is None:
            begin = self.add_jump()
            self.jumps[begin] = _in_preference(part, self._one_more(part.part, begin), then)
        for _ in range((part.most or part.least) - part.least):
            begin = self.add_jump(*_in_preference(part, self._one_more(part.part, begin), then))
        for _ in range(part.least):
            begin = self.add(part.part, begin)
        return begin

    def _one_more(self, part: PatternPart, then: int) -> int:
        """Add a part that takes at least one row."""
        leave = self.add_jump(then)
        enter = self.add_jump(self.add(part, leave))
        self.entered[enter] = self.left[leave] = enter
        return enter

    def states_from(self, instruction: int) -> tuple[int, ...]:
        """Return the instructions with variables that come next, each once, up to the end of the pattern."""
        found: dict[int, None] = {}
        nothing: frozenset[int] = frozenset()
        seen = set[tuple[int, frozenset[int]]]()
        waiting = [(instruction, nothing)]
        while waiting:
            current, entered = waiting.pop()
            if (current, entered) in seen or self.left.get(current) in entered:
                continue
            seen.add((current, entered))
            if current == END:
                return (*found, END)
            if current in self.variables:
                found.setdefault(current)
                continue
            if current in self.entered:
                entered |= {self.entered[current]}
            waiting += [(target, entered) for target in reversed(self.jumps[current])]
        return tuple(found)


def _in_preference(part: PatternRepeat, again: int, then: int) -> list[int]:
    return [again, then] if part.greedy else [then, again]
