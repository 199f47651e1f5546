"""The driver of rewrite rules.

A **rule** is a pure function from a node to the node that replaces it, or to None if it does not apply.  A
**pass** is a named set of rules, applied until none of them fires any more.  The driver works bottom-up: when
the rules are applied to a node, everything below it is final; the result of a rule is rewritten to a fixpoint
in turn.  The driver does not recurse, and records the result of each node by identity, so that a shared
subplan is rewritten once and remains shared.

Expressions that tables declare are rewritten as well: a projection that computes event time is recognized by
having the same expression as its table declares, and this has to remain so.

The contract of a rule: the job releases the same bytes with and without it.  That includes order, errors
(which row fails first, and with which code), and late rows.  Not promised: that paths of positions are the
same numbers, only that they order the rows in the same way; and that rows within the plan have the same
columns.  `tests/property/test_rules.py` checks each rule by evaluating plans before and after it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from fsql.compiler.expression import Expression
from fsql.compiler.logical import Plan
from fsql.compiler.node import Node, children, map_children, walk
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.logical import Job

FIRINGS_MAX: Final = 200_000
"""With more firings in one pass, the rules are considered not to reach a fixpoint."""

NodeT = TypeVar("NodeT", bound=Node)
RootT = TypeVar("RootT", bound=Node)


@dataclass(frozen=True, slots=True)
class Rule(Generic[NodeT]):
    """A rule, its name, and the class of nodes that it applies to.

    With `opens_inputs` the rule takes an input apart and rebuilds it from its pieces.  It is not applied if
    another operator also reads that input: the input would remain, and its rows would be computed and stored
    twice.
    """

    name: str
    on: type[NodeT]
    apply: Callable[[NodeT], Node | None]
    opens_inputs: bool = False


class Pass(NamedTuple):
    """Rules that are applied together to a fixpoint."""

    name: str
    rules: tuple[Rule[Any], ...]


class Firing(NamedTuple):
    """One application of a rule, for `fsql explain --trace`."""

    rule: str
    before: Node
    after: Node


class RuleLoopError(AssertionError):
    """Rules that do not terminate: a bug of the rules, not of the query."""

    def __init__(self, problem: str, firings: Sequence[Firing]) -> None:
        counts = Counter(firing.rule for firing in firings).most_common()
        listed = ", ".join(f"{rule} {count:,}" for rule, count in counts)
        super().__init__(f"{problem}; firings: {listed}")


def run_passes(
    job: Job,
    passes: Sequence[Pass],
    *,
    disabled: frozenset[str] = frozenset(),
    trace: list[Firing] | None = None,
    verify: Callable[[Job], None] | None = None,
) -> Job:
    """Return `job` after all passes.

    Args:
        job: the job, as the binder returns it.
        passes: the passes to apply, in order.
        disabled: names of passes and rules to leave out.
        trace: firings are appended to it.
        verify: is called with the job after each pass.

    Raises:
        ValueError: `disabled` has a name that is neither a pass nor a rule.
    """
    known = {name for each in passes for name in (each.name, *(rule.name for rule in each.rules))}
    if unknown := sorted(disabled - known):
        raise ValueError(f"no rule or pass is called {', '.join(unknown)}")
    for each in passes:
        if each.name in disabled:
            continue
        rules = [rule for rule in each.rules if rule.name not in disabled]
        try:
            job = rewrite(job, rules, trace=trace)
            if verify is not None:
                verify(job)
        except AssertionError as error:
            error.add_note(f"in pass {each.name}")
            raise
    return job


def rewrite(
    root: RootT,
    rules: Sequence[Rule[Any]],
    *,
    firings_max: int = FIRINGS_MAX,
    trace: list[Firing] | None = None,
) -> RootT:
    """Return `root` with `rules` applied until none fires; the first rule that applies to a node rewrites it.

    Raises:
        RuleLoopError: if the rules fire more than `firings_max` times, or form a cycle.
    """
    rewriting = _Rewriting(rules, _read_twice(root), firings_max)
    try:
        result = rewriting.rewrite_to_fixpoint(root)
    finally:
        if trace is not None:
            trace.extend(rewriting.firings)
    assert isinstance(result, type(root)), "a rule changed what the root is"
    return result


class _Rewriting:
    """One run of the driver: the result of each node, and the rules that fired."""

    def __init__(self, rules: Sequence[Rule[Any]], shared: set[Node], firings_max: int) -> None:
        self.firings: list[Firing] = []
        self._rules = rules
        self._shared = shared
        self._firings_max = firings_max
        self._below: dict[Node, tuple[Node, ...]] = {}
        self._became: dict[Node, Node] = {}
        self._replaced: dict[Node, Node] = {}

    def rewrite_to_fixpoint(self, root: Node) -> Node:
        """Return the result of rewriting `root`."""
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if node in self._became:
                waiting.pop()
            elif open_nodes := self._open_below(node):
                waiting.extend(open_nodes)
            elif (replacement := self._replacement(node)) is None:
                self._settle(node, node)
            elif replacement in self._became:
                self._settle(node, self._became[replacement])
            else:
                waiting.append(replacement)
        return self._became[root]

    def _open_below(self, node: Node) -> list[Node]:
        """Return the children of `node` that are not final yet, in reverse order."""
        if node in self._replaced:
            return []
        below = self._below.get(node)
        if below is None:
            below = self._below[node] = children(node)
        return [child for child in below if child not in self._became][::-1]

    def _replacement(self, node: Node) -> Node | None:
        """Return the replacement of `node`, whose children are final; None if no rule applies.

        A node that is visited again before its replacement is final is part of that replacement.
        """
        replacement = self._replaced.get(node)
        if replacement is not None:
            if replacement not in self._became:
                raise RuleLoopError("rewrite rules go in a circle", self.firings)
            return replacement
        if all(self._became[child] is child for child in self._below[node]):
            replacement = self._fire(node)
        else:
            replacement = map_children(node, self._became.__getitem__)
        if replacement is not None:
            self._replaced[node] = replacement
        return replacement

    def _fire(self, node: Node) -> Node | None:
        opens = not any(child in self._shared for child in self._below[node])
        for rule in self._rules:
            if isinstance(node, rule.on) and (opens or not rule.opens_inputs):
                result = rule.apply(node)
                if result is not None and result is not node:
                    self.firings.append(Firing(rule.name, node, result))
                    if len(self.firings) > self._firings_max:
                        problem = f"rewrite rules fired more than {self._firings_max:,} times"
                        raise RuleLoopError(problem, self.firings)
                    return result
        return None

    def _settle(self, node: Node, result: Node) -> None:
        self._became[node] = result
        if node in self._shared:
            self._shared.add(result)


def _read_twice(root: Node) -> set[Node]:
    """Return the operators below `root` that are read more than once."""
    readers = Counter(
        below
        for node in walk(root)
        if not isinstance(node, Expression)
        for below in children(node)
        if isinstance(below, Plan)
    )
    return {node for node, count in readers.items() if count > 1}
