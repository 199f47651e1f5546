"""Functions of a program that the scripts of its session can call, without a module in a folder."""

from __future__ import annotations

from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.job.functions import Registered
from fsql.job.memory import quote
from fsql.job.udf import FunctionKind, declaration_of
from fsql.programs.declaration import is_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROGRAM: Final = "<program>"
"""The module of these functions in plans; no module of a folder has this name."""
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class ProgramFunctions:
    """The functions of a session, by the names by which scripts call them."""

    by_name: dict[str, Registered] = field(default_factory=dict)

    @property
    def registered(self) -> Mapping[str, Registered]:
        """Return the functions by their entries."""
        return {f"{PROGRAM}:{name}": each for name, each in self.by_name.items()}

    @property
    def declarations(self) -> str:
        """Return the statements that declare the functions."""
        return "\n".join(_statement(name, each) for name, each in self.by_name.items())

    def add(self, name: str, function: Callable[..., object]) -> None:
        """Add a function, or replace the one of that name.

        Raises:
            FsqlError: E411, if its types are not declared, or its name is not that of a function.
        """
        if declaration_of(function) is None and not is_program(function):
            message = f'the types of function "{name}" are not declared'
            helps = (
                "declare them: @fsql.udf, @fsql.udtf([…], […]), @fsql.udaf([…], …) or @fsql.program(…)",
            )
            raise FsqlError([Diagnostic("E411", message, helps=helps)])
        if not name.isidentifier():
            message = f'"{name}" cannot be the name of a function'
            raise FsqlError([Diagnostic("E411", message, helps=("give a name: name='…'",))])
        known = self.by_name.get(name)
        if known is None or known.function is not function:
            self.by_name[name] = Registered(function, str(next(_NUMBERS)))


def _statement(name: str, registered: Registered) -> str:
    if is_program(registered.function):
        return f"CREATE PROGRAM {quote(name)} AS '{PROGRAM}:{name}' LANGUAGE PYTHON;"
    declared = declaration_of(registered.function)
    assert declared is not None
    kind = "AGGREGATE FUNCTION" if declared.kind is FunctionKind.AGGREGATE else "FUNCTION"
    return f"CREATE {kind} {quote(name)} AS '{PROGRAM}:{name}' LANGUAGE PYTHON;"
