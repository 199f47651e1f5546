"""Comparison, by the canonical order of values: NaN equals itself and is the greatest, -0.0 equals 0.0.

Strings compare by code point, which is the order of their UTF-8 bytes.  Arrays are only compared for
equality, where NULL elements are equal; so are rows, field by field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.expression import Call, Expression, InSet, Literal
from fsql.compiler.functions.decimals import alike
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import BOOLEAN, DECIMALS, FLOATING, TEXTUAL, Kind, SqlType
from fsql.runtime.decimals import times
from fsql.runtime.kernels.expressions.functions_logic import choose
from fsql.runtime.kernels.expressions.strict import (
    all_valid,
    arrow,
    leftmost_failure,
    over_dictionary,
    total,
)
from fsql.runtime.kernels.expressions.vectors import (
    DTYPES,
    Vector,
    both_valid,
    common_length,
    from_array,
    offsets,
    plain_values,
    stretched_values,
    truth,
)
from fsql.runtime.order import sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.runtime.arrays import Bools, Doubles
    from fsql.runtime.kernels.expressions.vectors import Kernel

    Array = NDArray[Any]


_UFUNCS: Final[dict[str, np.ufunc]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_ARROW: Final = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}


def _compare_doubles(name: str) -> Callable[[Doubles, Doubles], Bools]:
    """Compare by IEEE, then correct the rows with a NaN, for which IEEE returns FALSE (`ne`: TRUE)."""
    ufunc = _UFUNCS[name]

    def compare(left: Doubles, right: Doubles) -> Bools:
        result: Bools = ufunc(left, right)
        left_nan, right_nan = np.isnan(left), np.isnan(right)
        if left_nan.any() or right_nan.any():
            either = left_nan | right_nan
            result = np.where(either, ufunc(left_nan, right_nan), result)
        return result

    return compare


def comparison(name: str, sql_type: SqlType) -> Kernel:
    """Return the kernel of comparison `name` (`eq`, `lt`, …) between two values of `sql_type`."""
    match sql_type.kind:
        case Kind.STRING | Kind.BYTES:
            return over_dictionary(arrow(_ARROW[name], BOOLEAN))
        case Kind.FLOAT | Kind.DOUBLE:
            return total(_compare_doubles(name))
        case Kind.ARRAY | Kind.MAP:
            return _compare_arrays(sql_type, negated=name == "ne")
        case Kind.ROW:
            return _compare_rows(sql_type, negated=name == "ne")
        case Kind.NULL:
            return _null_of_nulls
        case _:
            return total(_UFUNCS[name])


def _null_of_nulls(arguments: Sequence[Vector]) -> Vector:
    nothing = np.zeros(common_length(arguments), np.bool_)
    return Vector(nothing, nothing, leftmost_failure(arguments))


def _compare_arrays(sql_type: SqlType, *, negated: bool) -> Kernel:
    element = sql_type.element
    assert element is not None
    equal_elements = _equal_or_both_null(element)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        left, right = (stretched_values(argument, count) for argument in arguments)
        equal = _equal_lists(left, right, element, equal_elements)
        return Vector(
            ~equal if negated else equal, all_valid(arguments), leftmost_failure(arguments)
        )

    return kernel


def _compare_rows(sql_type: SqlType, *, negated: bool) -> Kernel:
    types = sql_type.field_types
    equal_fields = [_equal_or_both_null(each) for each in types]

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        sides = [stretched_values(argument, count) for argument in arguments]
        equal = np.ones(count, np.bool_)
        for index, (compare, each) in enumerate(zip(equal_fields, types, strict=True)):
            equal &= compare(*(from_array(pc.struct_field(side, [index]), each) for side in sides))
        return Vector(
            ~equal if negated else equal, all_valid(arguments), leftmost_failure(arguments)
        )

    return kernel


def _equal_lists(
    left: pa.ListArray,
    right: pa.ListArray,
    element: SqlType,
    equal_elements: Callable[[Vector, Vector], Bools],
) -> Bools:
    """Return where two lists have equal lengths and equal elements; arbitrary where one is NULL."""
    left_offsets, right_offsets = offsets(left).astype(np.int64), offsets(right).astype(np.int64)
    lengths = np.diff(left_offsets)
    equal: Bools = lengths == np.diff(right_offsets)
    lengths = np.where(equal, lengths, 0)
    row = np.repeat(np.arange(len(left)), lengths)
    within = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pairs = [
        from_array(lists.values.take(pa.array(starts[row] + within)), element)
        for lists, starts in ((left, left_offsets), (right, right_offsets))
    ]
    equal[row[~equal_elements(*pairs)]] = False
    return equal


def _equal_or_both_null(element: SqlType) -> Callable[[Vector, Vector], Bools]:
    equal = comparison("eq", element)

    def compare(left: Vector, right: Vector) -> Bools:
        same: Bools
        if left.valid is None and right.valid is None:
            same = equal([left, right]).values
            return same
        left_valid, right_valid = (
            np.ones(len(side.values), np.bool_) if side.valid is None else side.valid
            for side in (left, right)
        )
        both = left_valid & right_valid
        same = np.where(both, equal([left, right]).values, left_valid == right_valid)
        return same

    return compare


def _extreme(name: str) -> Callable[[Call], Kernel]:
    """Return the maker of GREATEST (`gt`) or LEAST (`lt`): of equal values, the first."""

    def make(call: Call) -> Kernel:
        surpasses = comparison(name, call.type)

        def kernel(arguments: Sequence[Vector]) -> Vector:
            count = common_length(arguments)
            best, *others = [Vector(argument.values) for argument in arguments]
            for other in others:
                better: Bools = np.broadcast_to(surpasses([other, best]).values, count)
                best = Vector(choose(better.astype(np.int64), [best, other], call.type).values)
            valid, failed = all_valid(arguments), leftmost_failure(arguments)
            if valid is not None and not isinstance(best.values, np.ndarray):
                nulls = pc.if_else(pa.array(np.broadcast_to(valid, count)), best.values, None)
                return Vector(nulls, valid, failed)
            return Vector(best.values, valid, failed)

        return kernel

    return make


def _make_comparison(name: str) -> Callable[[Call], Kernel]:
    def make(call: Call) -> Kernel:
        left, right = (argument.type for argument in call.arguments)
        if left.kind is right.kind is Kind.DECIMAL and left.scale != right.scale:
            return _compare_decimals(name, *alike(left, right))
        return comparison(name, left)

    return make


def _compare_decimals(name: str, of_left: int, of_right: int) -> Kernel:
    """Compare numbers of two units, which the factors make one."""
    ufunc = _UFUNCS[name]

    def compare(left: Array, right: Array) -> Bools:
        result: Bools = ufunc(times(left, of_left), times(right, of_right)).astype(np.bool_)
        return result

    return total(compare)


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    **{name: _make_comparison(name) for name in _UFUNCS},
    "greatest": _extreme("gt"),
    "least": _extreme("lt"),
}


# `x IN (1, 2, …)`, `x = 1 OR x = 2 OR …`, and `x <> 1 AND x <> 2 AND …`, as one look-up.
#
# All terms of such a chain compare one expression with constants, so the look-up has the same result as
# evaluating them one by one: if x fails, the result fails; if x is NULL, every term is NULL; if x is among
# the constants, the result is known; if not, a NULL among them makes the result NULL.


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
