"""The functions in Python that a script declares, as they are found by expressions and FROM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.functions.python_aggregates import PythonAggregate
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.functions.python_programs import LoadedProgram
    from fsql.compiler.functions.signature import Function
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function of the script; None if its declaration was refused, which has been reported.

    With `is_table` it is a table function, whose result is the array of its rows.
    """

    function: Function | PythonAggregate | LoadedProgram | None
    span: Span
    is_table: bool = False

    @property
    def is_program(self) -> bool:
        """Return whether it is a program, which RUN runs."""
        from fsql.compiler.functions.python_programs import LoadedProgram

        return isinstance(self.function, LoadedProgram)

    @property
    def is_aggregate(self) -> bool:
        """Return whether it is an aggregate function."""
        return isinstance(self.function, PythonAggregate)


Functions: TypeAlias = Mapping[str, DeclaredFunction]
"""The functions declared so far, by their names in upper case."""
NO_FUNCTIONS: Final[Functions] = {}
