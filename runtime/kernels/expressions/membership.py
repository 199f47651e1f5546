"""`x IN (1, 2, …)`, `x = 1 OR x = 2 OR …`, and `x <> 1 AND x <> 2 AND …`, as one look-up.

All terms of such a chain compare one expression with constants, so the look-up has the same result as
evaluating them one by one: if x fails, the result fails; if x is NULL, every term is NULL; if x is among the
constants, the result is known; if not, a NULL among them makes the result NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import Call, Expression, InSet, Literal
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import BOOLEAN, DECIMALS, FLOATING, TEXTUAL, SqlType
from fsql.runtime.kernels.expressions.strict import over_dictionary
from fsql.runtime.kernels.expressions.vectors import (
    DTYPES,
    Vector,
    both_valid,
    from_array,
    plain_values,
    truth,
)
from fsql.runtime.order import sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.runtime.kernels.expressions.vectors import Kernel

    Array = NDArray[Any]

_TERMS_MIN: Final = 8
"""With fewer terms, evaluating them one by one is as fast."""
_CONNECTIVE_OF: Final = {"eq": "or", "ne": "and"}


class _Chain(NamedTuple):
    """A tree of `connective` over comparisons of `operand` with constants, `terms` of them."""

    operand: Expression
    connective: str
    terms: int


def find_memberships(expression: Expression) -> dict[Expression, InSet]:
    """Return the largest long chains of `expression`, each with the look-up that replaces it."""
    chains: dict[Expression, _Chain] = {}
    inner: set[Expression] = set()
    for node in walk(expression):
        if not isinstance(node, Call):
            continue
        chain = _comparison(node) or _join_chains(node, chains)
        if chain is not None:
            chains[node] = chain
            if chain.terms > 1:
                inner.update(node.arguments)
    return {
        node: _in_set(node, chain)
        for node, chain in chains.items()
        if chain.terms >= _TERMS_MIN and node not in inner
    }


def _comparison(node: Call) -> _Chain | None:
    """Return the chain of one term for `operand = constant` or `operand <> constant`."""
    if node.function not in _CONNECTIVE_OF:
        return None
    operand, constant = node.arguments
    comparable = operand.type.kind in DTYPES or operand.type.kind in TEXTUAL
    if not comparable or operand.type != constant.type or not isinstance(constant, Literal):
        return None
    return _Chain(operand, _CONNECTIVE_OF[node.function], 1)


def _join_chains(node: Call, chains: dict[Expression, _Chain]) -> _Chain | None:
    """Return the chain of a connective over two chains of the same connective and operand."""
    if node.function not in _CONNECTIVE_OF.values():
        return None
    left, right = (chains.get(argument) for argument in node.arguments)
    if left is None or right is None or left.operand is not right.operand:
        return None
    if {left.connective, right.connective} != {node.function}:
        return None
    return left._replace(terms=left.terms + right.terms)


def _in_set(node: Expression, chain: _Chain) -> InSet:
    negated = chain.connective == "and"
    return InSet(BOOLEAN, node.nullable, chain.operand, _values(node), negated=negated)


def _values(chain: Expression) -> tuple[Value, ...]:
    """Return the constants of a chain."""
    values: list[Value] = []
    waiting = [chain]
    while waiting:
        node = waiting.pop()
        assert isinstance(node, Call)
        if node.function in _CONNECTIVE_OF:
            constant = node.arguments[1]
            assert isinstance(constant, Literal)
            values.append(constant.value)
        else:
            waiting.extend(node.arguments)
    return tuple(values)


def in_set_kernel(test: InSet) -> Kernel:
    """Return the kernel that computes whether the argument is one of the values."""
    present = [value for value in test.values if value is not None]
    open_ended = len(present) < len(test.values)
    find = _finder(present, test.argument.type)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        found = find(plain_values(argument))
        valid = argument.valid
        if open_ended:
            valid = both_valid(valid, found)
        return Vector(~found if test.negated else found, valid, argument.failed)

    return over_dictionary(kernel)


def _finder(present: Sequence[Value], sql_type: SqlType) -> Callable[[Any], NDArray[np.bool_]]:
    """Return the function that computes which values are among `present`."""
    if sql_type.kind in TEXTUAL:
        return _text_finder(present)
    if not present:
        return lambda values: np.zeros(len(values), np.bool_)
    if sql_type.kind in DECIMALS:
        # The values may have more than 64 bits.
        members = frozenset(present)
        return lambda values: np.fromiter(map(members.__contains__, values.tolist()), np.bool_)
    constants = np.unique(_comparable(np.array(present, DTYPES[sql_type.kind]), sql_type))

    def find(values: Array) -> NDArray[np.bool_]:
        values = _comparable(values, sql_type)
        at = np.minimum(constants.searchsorted(values), len(constants) - 1)
        found: NDArray[np.bool_] = constants[at] == values
        return found

    return find


def _text_finder(present: Sequence[Value]) -> Callable[[pa.StringArray], NDArray[np.bool_]]:
    """Return the finder of texts.

    Arrow hashes the constants again for every batch, which costs about two look-ups in a Python set for each
    constant; smaller batches therefore use the set.
    """
    words = pa.array(present, pa.string())
    members = frozenset(present)

    def find(strings: pa.StringArray) -> NDArray[np.bool_]:
        if len(strings) < 2 * len(words):
            return np.fromiter(map(members.__contains__, strings.to_pylist()), np.bool_)
        return truth(from_array(pc.is_in(strings, value_set=words), BOOLEAN))

    return find


def _comparable(values: Array, sql_type: SqlType) -> Array:
    """Return values that are equal if and only if they are equal in the order of values."""
    return sortable_doubles(values) if sql_type.kind in FLOATING else values
