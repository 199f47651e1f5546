"""What a script refers to outside of its text: modules with functions, and input without declared columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.python_functions import refuse_loading
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.connectors import Options
    from fsql.compiler.functions.python_functions import Load
    from fsql.compiler.schema import InferenceNote
    from fsql.compiler.syntax import PhysicalColumn, TableOption
    from fsql.compiler.text.source import Span


class Inferred(NamedTuple):
    """What the input of a table says about it: its columns, options that are not given, and notes."""

    columns: tuple[PhysicalColumn, ...]
    options: tuple[TableOption, ...]
    notes: tuple[InferenceNote, ...] = ()


Infer: TypeAlias = "Callable[[str, Options, Span], Inferred]"
"""Returns what the input of the table with that name and these options says, as if it stood at the span.

It raises an `FsqlError` if it cannot.
"""


def refuse_inference(name: str, options: Options, span: Span) -> Inferred:
    """Refuse every table: nothing is read.

    Raises:
        FsqlError: E225, always.
    """
    del options, span
    raise FsqlError([Diagnostic("E225", f'the columns of "{name}" are not inferred here')])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`load` loads functions in Python, `infer` reads the columns of tables that declare none."""

    load: Load = refuse_loading
    infer: Infer = refuse_inference


NO_SURROUNDINGS: Final = Surroundings()
