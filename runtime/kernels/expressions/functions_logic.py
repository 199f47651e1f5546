"""Three-valued logic, and the lazy functions: AND, OR, CASE, COALESCE.

Every argument is computed for all rows at once; masks implement lazy evaluation.  A row that lazy evaluation
would not reach may have any value, and a failure in it is ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.event_times import TIME_BEFORE
from fsql.runtime.kernels.expressions.strict import leftmost_failure, total
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    both_valid,
    common_length,
    first_failure,
    from_array,
    plain_values,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel


def _and(arguments: Sequence[Vector]) -> Vector:
    left, right = arguments
    values = left.values & right.values
    if left.valid is None and right.valid is None and right.failed is None:
        return Vector(values, None, left.failed)
    valid = both_valid(left.valid, right.valid)
    left_false = ~left.values if left.valid is None else left.valid & ~left.values
    if valid is not None:
        right_false = ~right.values if right.valid is None else right.valid & ~right.values
        valid = valid | left_false | right_false
    return Vector(values, valid, _add_undecided_failures(left_false, left.failed, right.failed))


def _or(arguments: Sequence[Vector]) -> Vector:
    left, right = arguments
    values = left.values | right.values
    if left.valid is None and right.valid is None and right.failed is None:
        return Vector(values, None, left.failed)
    valid = both_valid(left.valid, right.valid)
    left_true = truth(left)
    if valid is not None:
        valid = valid | left_true | truth(right)
        values = left_true | truth(right)
    return Vector(values, valid, _add_undecided_failures(left_true, left.failed, right.failed))


def _add_undecided_failures(
    decided: Bools, left: Codes | None, right: Codes | None
) -> Codes | None:
    """Return the failures of the left side, and of the right side where the left one does not decide."""
    if right is not None:
        right = np.where(decided, np.int16(0), right)
    return first_failure(left, right)


def _is_null(argument: Sequence[Vector]) -> Vector:
    (vector,) = argument
    if vector.valid is None:
        return Vector(np.zeros(len(vector.values), np.bool_), None, vector.failed)
    return Vector(np.broadcast_to(~vector.valid, len(vector.values)), None, vector.failed)


def _is_not_null(argument: Sequence[Vector]) -> Vector:
    (vector,) = argument
    if vector.valid is None:
        return Vector(np.ones(len(vector.values), np.bool_), None, vector.failed)
    return Vector(np.broadcast_to(vector.valid, len(vector.values)), None, vector.failed)


def coalesce_kernel(sql_type: SqlType) -> Kernel:
    """Return the kernel of COALESCE: the first argument that is not NULL; the last one if none is."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        choice = np.full(count, len(arguments) - 1, np.int64)
        looking = np.ones(count, np.bool_)
        failed = None
        for i, argument in enumerate(arguments):
            failed = _add_failures(failed, argument.failed, looking)
            found = looking if argument.valid is None else looking & argument.valid
            choice[found] = i
            looking = looking & ~found
            if argument.failed is not None:
                looking &= argument.failed == 0
            if not looking.any():
                break
        return choose(choice, arguments, sql_type)._replace(failed=failed)

    return kernel


def case_kernel(sql_type: SqlType) -> Kernel:
    """Return the kernel of CASE; its arguments are condition, result, …, otherwise."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        *branches, otherwise = arguments
        conditions, results = branches[::2], [*branches[1::2], otherwise]
        count = common_length(arguments)
        choice = np.full(count, len(conditions), np.int64)
        undecided = np.ones(count, np.bool_)
        failed = None
        for i, condition in enumerate(conditions):
            failed = _add_failures(failed, condition.failed, undecided)
            if condition.failed is not None:
                undecided = undecided & (condition.failed == 0)
            taken = undecided & truth(condition)
            choice[taken] = i
            failed = _add_failures(failed, results[i].failed, taken)
            undecided &= ~taken
        failed = _add_failures(failed, otherwise.failed, undecided)
        return choose(choice, results, sql_type)._replace(failed=failed)

    return kernel


def _add_failures(failed: Codes | None, codes: Codes | None, reached: Bools) -> Codes | None:
    """Return `failed` with the codes of the rows that evaluation reaches added."""
    if codes is None:
        return failed
    return first_failure(failed, np.where(reached, codes, np.int16(0)))


def choose(choice: NDArray[np.int64], vectors: Sequence[Vector], sql_type: SqlType) -> Vector:
    """Return, for each row, the value of `vectors[choice]`; the caller adds the failures."""
    if not isinstance(vectors[0].values, np.ndarray):
        return _choose_arrow(choice, vectors, sql_type)
    dtypes = {vector.values.dtype for vector in vectors}
    values = np.empty(len(choice), dtypes.pop() if len(dtypes) == 1 else object)
    valid = None
    if any(vector.valid is not None for vector in vectors):
        valid = np.ones(len(choice), np.bool_)
    for i, vector in enumerate(vectors):
        here = choice == i
        np.copyto(values, vector.values, where=here)
        if valid is not None and vector.valid is not None:
            np.copyto(valid, vector.valid, where=here)
    return Vector(values, valid)


def _choose_arrow(
    choice: NDArray[np.int64], vectors: Sequence[Vector], sql_type: SqlType
) -> Vector:
    """Take each row's value from all vectors, laid out one after the other."""
    arrays = [plain_values(vector) for vector in vectors]
    lengths = np.array([len(array) for array in arrays])
    first = np.cumsum(lengths) - lengths
    rows = first[choice] + np.where(lengths[choice] == 1, 0, np.arange(len(choice)))
    return from_array(pa.concat_arrays(arrays).take(pa.array(rows)), sql_type)


def _first_argument(arguments: Sequence[Vector]) -> Vector:
    first = arguments[0]
    return Vector(first.values, first.valid, leftmost_failure(arguments))


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "and": lambda _call: _and,
    "or": lambda _call: _or,
    "not": lambda _call: total(np.logical_not),
    "is_null": lambda _call: _is_null,
    "is_not_null": lambda _call: _is_not_null,
    "coalesce": lambda call: coalesce_kernel(call.type),
    TIME_BEFORE: lambda _call: _first_argument,
}
