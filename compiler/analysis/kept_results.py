"""The parts of an output's result, and which of them can be enumerated from state.

The rows of an INSERT are the union of *parts*.  Each comes from the head of a stage, a source or a fold,
through a chain of map functions.  The result of a part as of a position can be enumerated if the state of the
fold has all rows that its changes add up to, and the chain does not depend on the positions of rows:

    fold                                      its state has
    aggregate, changes of a keyed table       a row for each group
    rank                                      the visible rows of each partition
    join                                      the rows of both sides

It cannot be enumerated if rows leave the state but stay in the result: those of windows that have closed, of
groups and joins whose state ends with time, and all rows of append-only operators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.graph import (
    CombineAggregate,
    CombineChanges,
    CombineJoin,
    CombineRank,
    CombineSlices,
    Compute,
    Explode,
    ExplodeAggregate,
    Pad,
    Renumber,
    ScanRows,
    Select,
    ToWindows,
)
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import HEAD, FoldHead, SourceHead, ToSink, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.graph import Combine, MapFunction
    from fsql.compiler.schema import Schema
    from fsql.compiler.tick_plan import Stage

_OF_PATHS: Final = (ScanRows, Renumber, Pad)
"""Functions that change only the path of a row, which is not part of an updating result."""

_OF_ROWS: Final = (Select, Compute, Explode, ExplodeAggregate, ToWindows)
"""Functions whose rows do not depend on the position of the row that they are applied to."""


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The rows of a stage's head, and the functions that make rows of an INSERT of them.

    `chain` has each function with the columns of its input.
    """

    head: SourceHead | FoldHead
    chain: tuple[tuple[MapFunction, Schema], ...]

    @property
    def functions(self) -> tuple[MapFunction, ...]:
        """Return the functions; the parts of equal heads have the same rows if these are equal."""
        return tuple(function for function, _ in self.chain)


def result_parts(stages: Iterable[Stage], insert: int) -> list[ResultPart]:
    """Return the parts of the result of INSERT number `insert`, whose replacements are not marked."""
    return [
        ResultPart(stage.head, _chain(stage, send.step))
        for stage in stages
        for send in stage.sends
        if send.to == ToSink(insert)
    ]


def _chain(stage: Stage, step: int) -> tuple[tuple[MapFunction, Schema], ...]:
    functions = []
    while step != HEAD:
        this = stage.steps[step]
        if not isinstance(this.function, _OF_PATHS):
            functions.append((this.function, schema_of(stage, this.input)))
        step = this.input
    return tuple(reversed(functions))


def why_not_enumerable(part: ResultPart) -> str | None:
    """Return why the rows of a part cannot be enumerated from state; None if they can."""
    if isinstance(part.head, SourceHead):
        return f'the rows of table "{part.head.table.name}" are not kept'
    if not all(isinstance(function, _OF_ROWS) for function in part.functions):
        return "the positions of rows are not kept"
    return _why_not_of_fold(part.head.combine)


def _why_not_of_fold(combine: Combine) -> str | None:
    match combine:
        case (
            CombineAggregate(closing=None, idle_us=None)
            | CombineChanges()
            | CombineRank(closing=None, final=False)
            | CombineJoin(closing=None, once=False, time_range=None)
        ):
            return None
        case CombineAggregate(closing=None):
            return "groups are dropped from the state after a time"
        case CombineSlices():
            return "windows that have closed are not kept"
        case CombineAggregate() | CombineRank() | CombineJoin(once=False, time_range=None):
            return "windows that have closed are not kept"
        case CombineJoin():
            return "rows that have been joined are not kept"
        case _:
            return "rows are not kept once they are written"
