"""The difference that a changed query makes to an output, as of the position of the change.

An output of an updating query has changes, which add up to the result of the query.  After a change of the
query they have to add up to the result of the new one: so at the position of the change, the output gets
the rows that only the old result has, as removed, and those that only the new one has, as added.

Both results are unions of parts (`compiler.analysis.kept_results`).  Parts that both have cancel, whether
their rows are known or not.  The rows of the others are enumerated from the state that is kept.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.analysis.kept_results import result_parts, why_not_enumerable
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.logical import Changes, append_only
from fsql.compiler.lowering import lower
from fsql.compiler.owner_map import ALL_BINS
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import operator_id, work_digest
from fsql.compiler.tick_plan import FoldHead
from fsql.connectors.row_options import row_options
from fsql.job.state_operators import state_operators
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import END, Batch
from fsql.runtime.change_order import canonical_order
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.runtime.dataflow.sink_gate import SinkGate
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.maps import compile_map
from fsql.runtime.order import concat
from fsql.runtime.weights import consolidate, negate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fsql.compiler.analysis.kept_results import ResultPart
    from fsql.compiler.logical import Insert, Job, Plan, SinkTable
    from fsql.compiler.schema import Schema
    from fsql.compiler.tick_plan import SinkPort, TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

    State = Mapping[str, Sequence[IncrementalSnapshot]]
    """The incremental snapshots of each operator, oldest first."""


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """What an output of an updating query gets at the position of a change.

    `removed` are parts of the old result and `added` parts of the new one, which INSERT number `insert`
    writes.  `columns` has for each of its columns the one of the old result, None for a new column.  If the
    state is `rebuilt`, the new result is computed from the input.  With a `reason` the difference cannot be
    computed.
    """

    output: str
    insert: int
    port: SinkPort
    removed: tuple[ResultPart, ...] = ()
    added: tuple[ResultPart, ...] = ()
    columns: tuple[int | None, ...] = ()
    rebuilt: bool = False
    reason: str | None = None

    @property
    def operators(self) -> frozenset[str]:
        """Return the operators from whose state the rows are enumerated."""
        heads = (part.head for part in (*self.removed, *self.added))
        return frozenset(head.operator for head in heads if isinstance(head, FoldHead))

    def with_columns_of(self, old: Batch) -> Batch:
        """Return rows of the old result with the columns of the new one."""
        columns = [
            pa.nulls(len(old), arrow_type(column.type)) if index is None else old.columns[index]
            for column, index in zip(self.port.table.columns, self.columns, strict=True)
        ]
        return old.with_columns(columns)


_NONE: Final = np.empty(0, np.int64)


class RowFailsError(Exception):
    """A row of the old or new result fails; the text says how."""


def output_differences(
    old: Job,
    new: Job,
    kept: Collection[str],
    *,
    rebuilt: bool,
    unreleased: Collection[str] = (),
    dropped: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> tuple[OutputDifference, ...]:
    """Return the differences of the updating outputs whose query or form changes, or that are new.

    `kept` are the operators whose state is kept; the others of the new job begin empty, unless all are
    `rebuilt`.  `unreleased` are outputs that have not got the difference of an earlier change, `dropped` the
    columns that outputs had once, by output.
    """
    before, after = _Results(old), _Results(new)
    found = []
    for number, insert in enumerate(new.inserts):
        name = insert.sink.name
        earlier = before.numbers.get(name)
        if earlier is None and (rebuilt or append_only(insert.query)):
            continue  # all of its rows come from the new query
        if earlier is not None:
            updating = not (append_only(insert.query) and append_only(old.inserts[earlier].query))
            waits = rebuilt and name in unreleased
            if not updating or (before.works[earlier] == after.works[number] and not waits):
                continue
        difference = _difference(before, earlier, after, number, kept, rebuilt=rebuilt)
        again = [
            column.name
            for column, index in zip(insert.sink.columns, difference.columns, strict=False)
            if index is None and column.name in dropped.get(name, ())
        ]
        if again:
            reason = f'rows of before have had another column "{again[0]}"'
            difference = OutputDifference(name, number, difference.port, reason=reason)
        if rebuilt or difference.reason or difference.removed or difference.added:
            found.append(difference)
    return tuple(found)


class _Results:
    """The results of a job's INSERTs, by number."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.numbers = {insert.sink.name: number for number, insert in enumerate(job.inserts)}
        self.works = [_work(insert) for insert in job.inserts]
        self.plan = unmarked_plan(job)

    def parts(self, number: int) -> list[ResultPart]:
        return result_parts(self.plan.stages, number)


def unmarked_plan(job: Job) -> TickPlan:
    """Return a tick plan of a job in which all updates have their removed rows."""
    return choose(lower(job), unmarked=frozenset(range(len(job.inserts))))


def _work(insert: Insert) -> tuple[object, ...]:
    """Return what an output is written from, and how; equal values are equal results."""
    sink = insert.sink
    columns = [(column.name, str(column.type)) for column in sink.columns]
    return work_digest(insert.query, lambda table: table.name), columns, _form(sink)


def _form(sink: SinkTable) -> tuple[object, ...]:
    """Return what determines how the rows of an output are written."""
    key = None
    if sink.changes is Changes.UPSERT:  # otherwise it is that of the query, and only orders changes
        key = [sink.columns[index].name for index in sink.key or ()]
    return _options(sink), sink.changes, key, sink.operation_column, sink.shards


def _options(sink: SinkTable) -> dict[str, str]:
    """Return the options that determine how rows are written; a file may be moved (`FileUses.check_kept`)."""
    return {name: value for name, value in row_options(sink) if name != "path"}


def _why_other_form(old: SinkTable, new: SinkTable) -> str | None:
    """Return why rows of before cannot be removed in the form of the new ones; None if they can."""
    before, after = _options(old), _options(new)
    options = [name for name in sorted(before | after) if before.get(name) != after.get(name)]
    if old.shards != new.shards:
        options.append("shards")
    if options:
        return "its option '" + "' and '".join(dict.fromkeys(options)) + "' changed"
    return None if _form(old) == _form(new) else "its key or the column of its operations changed"


def _difference(
    before: _Results,
    earlier: int | None,
    after: _Results,
    number: int,
    kept: Collection[str],
    *,
    rebuilt: bool,
) -> OutputDifference:
    new, port = after.job.inserts[number], after.plan.sinks[number]
    name = new.sink.name

    def refused(reason: str) -> OutputDifference:
        return OutputDifference(name, number, port, reason=reason)

    added, removed = after.parts(number), []
    columns: tuple[int | None, ...] = (None,) * len(new.sink.columns)
    if earlier is not None:
        old = before.job.inserts[earlier].sink
        removed = before.parts(earlier)
        reason = _why_other_form(old, new.sink)
        if reason is not None:
            return refused(reason)
        names = [column.name for column in old.columns]
        columns = tuple(
            names.index(each.name) if each.name in names else None for each in new.sink.columns
        )
        reason = _why_other_columns(old.columns, new.sink.columns, columns)
        if reason is not None:
            return refused(reason)
        if columns == tuple(range(len(old.columns))) and not rebuilt:
            removed, added = _without_common(removed, added)
    reason = None if rebuilt else _why_it_begins_late(after.job, new.query, kept)
    if reason is not None:
        return refused(reason)
    # What begins at the position of the change has no rows below it.
    added = [
        part
        for part in added
        if not (rebuilt or (isinstance(part.head, FoldHead) and part.head.operator not in kept))
    ]
    for part in (*removed, *added):
        reason = why_not_enumerable(part)
        if reason is not None:
            return refused(reason)
    if port.append_only and (removed or added):
        return refused("the new query removes no rows")
    return OutputDifference(
        name, number, port, tuple(removed), tuple(added), columns, rebuilt=rebuilt
    )


def _why_other_columns(old: Schema, new: Schema, columns: Sequence[int | None]) -> str | None:
    """Return why rows of the old result cannot be written with the new columns, None if they can."""
    for column, index in zip(new, columns, strict=True):
        if index is None:
            if not column.nullable:
                return f'column "{column.name}" is new and NOT NULL'
        elif old[index].type != column.type:
            return f'column "{column.name}" was {old[index].type}, and is {column.type}'
    return None


def _without_common(
    removed: Iterable[ResultPart], added: Sequence[ResultPart]
) -> tuple[list[ResultPart], list[ResultPart]]:
    """Return the parts of both results without those that both have."""
    left, rest = [], list(added)
    for part in removed:
        for other in rest:
            if _identity(part) == _identity(other) and part.functions == other.functions:
                rest.remove(other)
                break
        else:
            left.append(part)
    return left, rest


def _identity(part: ResultPart) -> str:
    head = part.head
    return head.operator if isinstance(head, FoldHead) else operator_id(head.table)


def _why_it_begins_late(job: Job, query: Plan, kept: Collection[str]) -> str | None:
    """Return the reason if rows would be removed from an operator that begins empty; None if not."""
    ids = {plan: name for name, plan in state_operators(job).items()}
    late: list[Plan] = []

    def removes_earlier_rows(plan: Plan) -> bool:
        """Return whether a row may be removed that came before the operators that begin empty."""
        inputs = [removes_earlier_rows(each) for each in plan.inputs]
        if plan not in ids:
            return any(inputs)
        if ids[plan] in kept:
            return not append_only(plan)
        if any(inputs):
            late.append(plan)
        return False

    removes_earlier_rows(query)
    if not late:
        return None
    return "an operator begins empty over one that keeps its state, and does not have its rows"


class ResultDifferences:
    """Enumerates results from the state as of one position; each fold is loaded once."""

    def __init__(self, state: State, position: Root) -> None:
        self._state = state
        self._position = position
        self._results: dict[str, Batch | None] = {}

    def rows(self, difference: OutputDifference, before: Batch | None = None) -> Batch:
        """Return the rows that the output gets, with weights, at the position; there may be none.

        `before` are rows of the old result that it gets there, too.

        Raises:
            RowFailsError: if a row of a result fails.
        """
        removed = self._union(difference.removed)
        added = self._union(difference.added)
        old = [before, None if removed is None else negate(removed)]
        parts = [None if rows is None else difference.with_columns_of(rows) for rows in old]
        return net_rows([*parts, added], difference.port)

    def _union(self, parts: Iterable[ResultPart]) -> Batch | None:
        return union([self._rows(part) for part in parts])

    def _rows(self, part: ResultPart) -> Batch | None:
        assert isinstance(part.head, FoldHead)
        rows = self._result(part.head)
        for function, schema in part.chain:
            if rows is None or not len(rows):
                return None
            made = compile_map(function, schema)(rows)
            if made.errors is not None and len(made.errors):
                code = f"E{made.errors.columns[0][0].as_py()}"
                raise RowFailsError(f"a row of its result fails: FSQL-{code}, {CODES[code].title}")
            rows = made.rows
        return rows

    def _result(self, head: FoldHead) -> Batch | None:
        if head.operator not in self._results:
            fold = make_fold(head)
            fold.load(self._state.get(head.operator, ()), ALL_BINS, self._position)
            self._results[head.operator] = fold.result()
        return self._results[head.operator]


def union(parts: Iterable[Batch | None]) -> Batch | None:
    """Return the rows of all parts, without their paths; None if there are none."""
    some = [
        Batch(list(map(decode_dictionary, part.columns)), part.time, part.origin, (), part.weight)
        for part in parts
        if part is not None and len(part)
    ]
    return concat(some) if some else None


def net_rows(parts: Iterable[Batch | None], port: SinkPort) -> Batch:
    """Return the sum of rows in canonical order."""
    rows = union(parts)
    rows = None if rows is None else consolidate(rows, by_path=False)
    if rows is None or not len(rows):
        columns = [pa.nulls(0, arrow_type(column.type)) for column in port.table.columns]
        return Batch(columns, _NONE, _NONE, ())
    return rows.take(canonical_order(rows, port.table.key).rows)


def changes_of(rows: Batch, port: SinkPort) -> int:
    """Return how many changes an output gets for rows, which are at one position."""
    if not len(rows):
        return 0
    gate = SinkGate(port, None)
    gate.accept(rows, repairs=True)
    release = gate.release(END)
    return 0 if release is None else len(release.time)
