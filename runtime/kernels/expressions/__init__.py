"""Expressions over columns: a list of bound expressions is compiled to a sequence of instructions.

Nodes are interned, so an expression that occurs several times is one node, and is computed once.  Every node
has a register; an instruction applies a kernel to registers and writes another; a register is cleared after
its last use.  A long list of equalities is one instruction (`membership`).  Neither compilation nor execution
is recursive, so that expressions may have thousands of terms.  The kernels handle failures and lazy
evaluation (`strict`, `functions_logic`): all expressions are computed for all rows, and the results are
masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    InSet,
    LambdaCall,
    Literal,
    TryCast,
)
from fsql.compiler.sqltypes import Kind
from fsql.runtime.kernels.expressions.casts import cast_kernel, try_cast_kernel
from fsql.runtime.kernels.expressions.functions import maker_of
from fsql.runtime.kernels.expressions.functions_comparison import find_memberships, in_set_kernel
from fsql.runtime.kernels.expressions.functions_decimal import OF_DECIMALS
from fsql.runtime.kernels.expressions.functions_logic import case_kernel
from fsql.runtime.kernels.expressions.functions_string import TEXT_BYTES_MAX
from fsql.runtime.kernels.expressions.functions_ubigint import OF_UBIGINTS
from fsql.runtime.kernels.expressions.lambdas import lambda_kernel
from fsql.runtime.kernels.expressions.rows import field_kernel
from fsql.runtime.kernels.expressions.vectors import Vector, constant, from_array, to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fsql.runtime.kernels.expressions.vectors import Kernel


class Evaluated(NamedTuple):
    """A computed column, and the rows that failed: 0, or the number of the error (501 for FSQL-E501).

    The values of failed rows are arbitrary.
    """

    values: pa.Array
    failed: NDArray[np.int16] | None


class Instruction(NamedTuple):
    """Write `kernel(arguments)` to register `target`; then clear the registers `dead`."""

    kernel: Kernel
    arguments: tuple[int, ...]
    target: int
    dead: tuple[int, ...]


class Program:
    """Expressions compiled together; `run` computes them over columns, each given as array or vector."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        memberships: dict[Expression, InSet] = {}
        for expression in expressions:
            memberships |= find_memberships(expression)
        registers = {node: i for i, node in enumerate(_nodes_in_order(expressions, memberships))}
        self._initial: list[Vector | None] = [None] * len(registers)
        self._columns: list[tuple[int, ColumnRef]] = []
        instructions: list[Instruction] = []
        for node, target in registers.items():
            if isinstance(node, ColumnRef):
                self._columns.append((target, node))
                continue
            arguments = tuple(registers[operand] for operand in _operands(node, memberships))
            kernel = _kernel(node, memberships)
            inputs = [self._initial[register] for register in arguments]
            if all(vector is not None for vector in inputs):
                self._initial[target] = kernel(inputs)  # type: ignore[arg-type]
            else:
                instructions.append(Instruction(kernel, arguments, target, ()))
        self.used_columns = tuple(sorted({reference.index for _, reference in self._columns}))
        """The indexes of the input columns that are read, ascending."""
        self._results = tuple(registers[expression] for expression in expressions)
        self._instructions = _with_last_uses(instructions, self._lasting_registers())

    def _lasting_registers(self) -> set[int]:
        """Return the registers that outlive every instruction: results and constants."""
        constants = {i for i, vector in enumerate(self._initial) if vector is not None}
        return constants | set(self._results)

    @property
    def instruction_count(self) -> int:
        """Return the number of kernels that a run applies."""
        return len(self._instructions)

    def run(
        self, columns: Mapping[int, pa.Array | Vector] | Sequence[pa.Array | Vector]
    ) -> list[Vector]:
        """Return a vector for each expression: of the columns' length, or 1 if all rows have one value.

        Raises:
            FsqlError: E506, if an expression has more text than one array can hold.
        """
        registers = self._initial.copy()
        for target, reference in self._columns:
            column = columns[reference.index]
            if not isinstance(column, Vector):
                column = from_array(column, reference.type)
            registers[target] = column
        for kernel, arguments, target, dead in self._instructions:
            try:
                registers[target] = kernel([registers[i] for i in arguments])  # type: ignore[misc]
            except pa.ArrowCapacityError:
                raise _too_large() from None
            for register in dead:
                registers[register] = None
        return [registers[result] for result in self._results]  # type: ignore[misc]


def _too_large() -> FsqlError:
    message = f"an expression has more than {TEXT_BYTES_MAX:,} bytes of text in one batch of rows"
    return FsqlError([Diagnostic("E506", message, helps=(CODES["E506"].fix,))])


def _nodes_in_order(
    expressions: Sequence[Expression], memberships: Mapping[Expression, InSet]
) -> dict[Expression, None]:
    """Return all nodes that must be computed, each once, operands first."""
    found: dict[Expression, None] = {}
    for expression in expressions:
        stack = [(expression, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                found[node] = None
            elif node not in found:
                stack.append((node, True))
                operands = _operands(node, memberships)
                stack.extend((operand, False) for operand in reversed(operands))
    return found


def _operands(node: Expression, memberships: Mapping[Expression, InSet]) -> tuple[Expression, ...]:
    """Return the expressions whose values are the arguments of the kernel of `node`."""
    node = memberships.get(node, node)
    match node:
        case Call(arguments=arguments):
            return arguments
        case Cast() | TryCast() | FieldAccess() | InSet():
            return (node.argument,)
        case Case(branches=branches, otherwise=otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case LambdaCall(arguments=arguments, captured=captured):
            return (*arguments, *captured)
        case _:
            return ()


def _kernel(  # noqa: PLR0911 - one for each form
    node: Expression, memberships: Mapping[Expression, InSet]
) -> Kernel:
    """Return the kernel that computes `node` from its operands."""
    node = memberships.get(node, node)
    match node:
        case Literal(value=value):
            literal = constant(value, node.type)
            return lambda _arguments: literal
        case Call(function=function):
            special = _BY_RESULT.get(node.type.kind, {})
            return special.get(function, maker_of(function))(node)
        case Cast(argument=argument):
            return cast_kernel(argument.type, node.type)
        case TryCast(argument=argument):
            return try_cast_kernel(argument.type, node.type)
        case Case():
            return case_kernel(node.type)
        case FieldAccess(index=index):
            return field_kernel(index, node.type)
        case InSet():
            return in_set_kernel(node)
        case LambdaCall(body=body):
            return lambda_kernel(node, Program([body.expression]).run)
        case _:
            raise AssertionError(node)


_BY_RESULT: Final = {Kind.DECIMAL: OF_DECIMALS, Kind.UBIGINT: OF_UBIGINTS}
"""Makers of functions whose values are not of fixed width, by the kind of the result."""


def _with_last_uses(instructions: Sequence[Instruction], kept: set[int]) -> tuple[Instruction, ...]:
    """Return the instructions with the registers that each is the last one to read, except `kept`."""
    seen = set(kept)
    result = []
    for instruction in reversed(instructions):
        dead = tuple(sorted(set(instruction.arguments) - seen))
        seen.update(dead)
        result.append(instruction._replace(dead=dead))
    return tuple(reversed(result))


def compile_expressions(
    expressions: Sequence[Expression],
) -> Callable[[Sequence[pa.Array], int], list[Evaluated]]:
    """Return the function from an input's columns and their length to the value of each expression."""
    plain = [e for e in expressions if not isinstance(e, ColumnRef)]
    if not plain:
        chosen = [e.index for e in expressions if isinstance(e, ColumnRef)]
        return lambda columns, _count: [Evaluated(columns[index], None) for index in chosen]
    program = Program(plain)
    types = [expression.type for expression in plain]

    def evaluate(columns: Sequence[pa.Array], count: int) -> list[Evaluated]:
        vectors = program.run(columns)
        computed = (
            Evaluated(to_array(vector, sql_type, count), _stretch(vector.failed, count))
            for vector, sql_type in zip(vectors, types, strict=True)
        )
        return [
            Evaluated(columns[expression.index], None)
            if isinstance(expression, ColumnRef)
            else next(computed)
            for expression in expressions
        ]

    return evaluate


def _stretch(failed: NDArray[np.int16] | None, count: int) -> NDArray[np.int16] | None:
    if failed is None or len(failed) == count:
        return failed
    return np.repeat(failed, count)


def compile_expression(
    expression: Expression,
) -> Callable[[Sequence[pa.Array], int], Evaluated]:
    """Return the function from an input's columns and their length to the value of `expression`."""
    evaluate_all = compile_expressions([expression])

    def evaluate(columns: Sequence[pa.Array], count: int) -> Evaluated:
        return evaluate_all(columns, count)[0]

    return evaluate
