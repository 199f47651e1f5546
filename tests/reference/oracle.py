"""The prefix oracle: what a job means, by definition and with no incrementality at all.

The input is sorted by root position.  For each root the queries are evaluated as a batch over the
prefix that ends there (`relations`), and what a job releases at the root is the difference to the
prefix before.  The roots to look at are those of the rows, and the closing positions of windows.
The first root with an error ends the output; nothing of that root is released.

Nothing here is shared with fsql but the plan's data types: expressions, functions, aggregates, order
and text are rewritten in this folder.  The oracle catches what is wrong in lowering, in operators
and their state, in order, labels and text, in repairs, routes and progress.  It cannot catch what is
wrong in the plan itself (parser, binder): there it evaluates the same mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import logical
from fsql.runtime.ports import DeadLetter
from fsql.tests.reference.changes import difference, labelled
from fsql.tests.reference.closings import Window, closing, expired, has_closing, window_end
from fsql.tests.reference.failure import NOT_AVAILABLE, FailureError
from fsql.tests.reference.lines import line
from fsql.tests.reference.order import row_key
from fsql.tests.reference.relations import END, Relations, Row, total_order
from fsql.tests.reference.scalar import evaluate
from fsql.tests.reference.scalar_casts import cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.tests.reference.changes import Change
    from fsql.tests.reference.relations import Root

    Values = tuple[Value, ...]
    Split = Sequence[Values | DeadLetter]
    Inputs = Mapping[int, Sequence[Split]]

TIME_START: Final = -(2**63) + 1
START: Final[Root] = (TIME_START, -2)
"""Before every position."""
NO_EVENT_TIME: Final = 521
OUT_OF_RANGE: Final = 504
AHEAD: Final = 522
YEAR_2: Final = (date(2, 1, 1) - date(1970, 1, 1)).days * 86_400_000_000
YEAR_9999: Final = (date(9999, 1, 1) - date(1970, 1, 1)).days * 86_400_000_000


class LateRow(NamedTuple):
    """A row that came after its window had closed; weight -1 where it takes a row back."""

    root: Root
    values: Values
    weight: int


class MalformedRow(NamedTuple):
    """A malformed row of a table whose policy is to go on; `row` is its number in the split."""

    root: Root
    table: int
    split: int
    row: int
    code: int


@dataclass(frozen=True)
class OracleResult:
    """What a job releases.

    `released` has the lines of each INSERT with their roots, in order; `late` the late rows of each
    operator of the job that has any (each once, in the order of `logical.operators` over
    the INSERTs), by root and value; `dead_letters` are ordered by root; `error` is the code and root at
    which the job ended.
    """

    released: tuple[tuple[tuple[Root, str], ...], ...]
    late: tuple[tuple[LateRow, ...], ...]
    dead_letters: tuple[MalformedRow, ...]
    error: tuple[int, Root] | None


class Oracle:
    """One evaluation of one job; all that it keeps follows from its arguments."""

    def __init__(self, job: logical.Job, inputs: Inputs, *, literal: bool) -> None:
        self.job = job
        self.rows: dict[int, list[Row]] = {table.ordinal: [] for table in job.tables}
        self.dead_letters: list[MalformedRow] = []
        self.errors: set[tuple[Root, int]] = set()
        self.rejecting = {
            table.ordinal
            for table in job.tables
            if dict(table.options).get("on_error", "stop") == "reject"
        }
        self.late_for: dict[logical.Plan, None] = {
            operator: None
            for insert in job.inserts
            for operator in logical.operators(insert.query)
            if logical.has_late_rows(operator)
        }
        self.window_ends: dict[Window, set[int]] = {
            operator: set()
            for insert in job.inserts
            for operator in logical.operators(insert.query)
            if has_closing(operator)
        }
        self.relations = Relations(self.rows, literal, self.errors, self.window_ends)
        for table in job.tables:
            for split, rows in enumerate(inputs.get(table.ordinal, ())):
                self.read(table, split, rows)

    def read(self, table: logical.Table, split: int, rows: Split) -> None:
        """Give each row of a split its root position, and sort out the malformed ones."""
        time = TIME_START
        before: tuple[Value, ...] | None = None
        for number, row in enumerate(rows):
            origin = table.ordinal << 56 | split << 40 | number
            code = row.code if isinstance(row, DeadLetter) else None
            values: tuple[Value, ...] = () if isinstance(row, DeadLetter) else declared(table, row)
            if table.time is logical.TimeKind.OFFSET:
                time = number
            if table.time is logical.TimeKind.ARRIVAL and values:
                assert isinstance(values[-1], int)
                time, values = max(time, values[-1]), values[:-1]
            if table.event_time is not None and values:
                event_time, code = time_of(table.event_time, values)
                limit = max_ahead(table)
                if code is None and event_time > time + limit:
                    code = (
                        AHEAD if is_ahead(table, rows[number + 1 :], event_time - limit) else None
                    )
                time = time if code else max(time, event_time)
            if code is None and table.replaced:
                removed = before is not None and before[0] == "-U"
                absent = (None,) * (len(table.columns) - 1)
                before, values = values, (*values, *(before[1:] if removed else absent))
            if code is None:
                seen = (*values, time) if table.row_time else values
                self.rows[table.ordinal].append(Row(seen, (time, origin)))
            elif dict(table.options).get("on_error", "stop") == "reject":
                rejected = MalformedRow((time, origin), table.ordinal, split, number, code)
                self.dead_letters.append(rejected)
            else:
                self.errors.add(((time, origin), code))

    def result(self) -> OracleResult:
        """Return what is released at each root, in order, up to the first error."""
        released: list[list[tuple[Root, str]]] = [[] for _ in self.job.inserts]
        late: list[list[LateRow]] = [[] for _ in self.late_for]
        before, root = START, self.next_root(START)
        while root is not None:
            for lines, insert in zip(released, self.job.inserts, strict=True):
                lines.extend((root, text) for text in self.lines(insert, before, root))
            for rows, operator in zip(late, self.late_for, strict=True):
                rows.extend(self.late_rows(operator, before, root))
            self.reject_rows()
            if self.errors and min(self.errors)[0] <= root:
                break
            before, root = root, self.next_root(root)
        stop, code = min(self.errors, default=(END, 0))
        return OracleResult(
            tuple(tuple(entry for entry in lines if entry[0] < stop) for lines in released),
            tuple(tuple(row for row in rows if row.root < stop) for rows in late),
            tuple(sorted(row for row in self.dead_letters if row.root < stop)),
            None if stop == END else (code, stop),
        )

    def reject_rows(self) -> None:
        """Make malformed rows of the rows that lack a value, where their table goes on after such rows."""
        for root, code in sorted(self.errors):
            ordinal, split, row = root[1] >> 56, root[1] >> 40 & 0xFFFF, root[1] & (1 << 40) - 1
            if code == NOT_AVAILABLE and ordinal in self.rejecting:
                self.errors.discard((root, code))
                letter = MalformedRow(root, ordinal, split, row, code)
                if letter not in self.dead_letters:
                    self.dead_letters.append(letter)

    def next_root(self, root: Root) -> Root | None:
        """Return the first root behind `root` at which anything can happen."""
        roots = [row.root for rows in self.rows.values() for row in rows]
        roots += [row.root for row in self.dead_letters] + [failed for failed, _ in self.errors]
        for window, ends in self.window_ends.items():
            roots += [closing(window, end) for end in ends]
        return min((other for other in roots if other > root), default=None)

    def lines(self, insert: logical.Insert, before: Root, root: Root) -> Iterator[str]:
        """Yield the lines that an INSERT releases at `root`, the next one behind `before`."""
        if logical.append_only(insert.query):
            for row in self.appended(insert.query, before, root):
                yield line(insert.sink, "+I", row.values)
        else:
            changes = self.difference(insert.query, before, root)
            for operation, values in labelled(changes, insert.sink.key):
                if operation != "-U" or insert.sink.changes is not logical.Changes.UPSERT:
                    yield line(insert.sink, operation, values)

    def late_rows(self, window: logical.Plan, before: Root, root: Root) -> list[LateRow]:
        """Return what comes into an operator at `root` although its window has closed before."""
        if isinstance(window, logical.CountLateRows):
            late = [row.values for row in self.appended(window.input, before, root)]
            late = [values for values in late if expired(window, values, root)]
            return [LateRow(root, values, 1) for values in sorted(late, key=row_key)]
        assert isinstance(window, Window)
        if isinstance(window, logical.AssignSessions):
            found = self.relations.sessions(window, root)[1]
            late = [row.values for row in found if row.root == root]
            return [LateRow(root, values, 1) for values in sorted(late, key=row_key)]
        if logical.append_only(window.input):
            came = [(row.values, 1) for row in self.appended(window.input, before, root)]
        else:
            came = [*self.difference(window.input, before, root)]
        return sorted(
            (
                LateRow(root, values, weight)
                for values, weight in came
                if closing(window, window_end(window, values)) < root
            ),
            key=lambda row: (row_key(row.values), row.weight),
        )

    def appended(self, plan: logical.Plan, before: Root, root: Root) -> list[Row]:
        """Return the rows that `root` adds to an append-only relation, in order."""
        rows = self.relations.relation(plan, root)
        new = [row for row in rows if row.root == root]
        if self.relations.literal:
            old = self.relations.relation(plan, before)
            grown = [total_order(row) for row in (*old, *new)]
            assert grown == [total_order(row) for row in rows], "it did not just grow at its end"
        return new

    def difference(self, plan: logical.Plan, before: Root, root: Root) -> list[Change]:
        """Return how `root` changes an updating relation."""
        return difference(
            [row.values for row in self.relations.relation(plan, before)],
            [row.values for row in self.relations.relation(plan, root)],
        )


def declared(table: logical.Table, row: Values) -> Values:
    """Return a row whose times have the digits that its columns declare."""
    cut = [
        None if value is None else cast(value, column.type.without_fraction, column.type)
        for value, column in zip(row, table.columns, strict=False)
    ]
    return (*cut, *row[len(cut) :])


def time_of(event_time: Expression, row: Values) -> tuple[int, int | None]:
    """Return the event time of a row; if it has none, the least time and the code of the error."""
    try:
        value = evaluate(event_time, row)
    except FailureError as failure:
        return TIME_START, failure.code
    assert value is None or isinstance(value, int)
    if value is None:
        return TIME_START, NO_EVENT_TIME
    return (value, None) if YEAR_2 <= value < YEAR_9999 else (TIME_START, OUT_OF_RANGE)


def max_ahead(table: logical.Table) -> int:
    """Return how far a row may be ahead of those around it."""
    number, _, unit = dict(table.options).get("max_ahead", "none").partition(" ")
    return (
        int(number) * {"s": 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}[unit] if unit else 2**70
    )


def is_ahead(table: logical.Table, rows: Split, limit: int) -> bool:
    """Return whether one of the next 16 rows, and half of those with a time, are before the limit."""
    assert table.event_time is not None
    decoded = [declared(table, row) for row in rows if not isinstance(row, DeadLetter)][:16]
    known = [time_of(table.event_time, row) for row in decoded]
    before = [time < limit for time, code in known if code is None]
    return any(before) and before.count(True) >= before.count(False)


def evaluate_job(job: logical.Job, inputs: Inputs, *, literal: bool = False) -> OracleResult:
    """Return what `job` releases for `inputs`, the splits of each table by its ordinal.

    With `literal`, relations that should only grow are evaluated anew for each prefix, and checked.
    """
    return Oracle(job, inputs, literal=literal).result()
