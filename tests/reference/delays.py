"""How late a row may be: the delay of an event-time column, followed down to the tables, one by one.

`behind` is the most by which the column can lag its row's root time, `ahead` the most by which it can
lead it, where no input row is later than its table allows (semantics.md, "Delays").
"""

from __future__ import annotations

from fsql.compiler import logical
from fsql.compiler.expression import Call, ColumnRef, Expression, Literal
from fsql.tests.reference import zones

LONGEST = 400_000_000_000_000_000
"""No delay is longer: it is more than any two timestamps are apart."""


def behind(  # noqa: PLR0911 - one line for each kind
    plan: logical.Plan, column: int
) -> int:
    """Return the delay of an event-time column."""
    match plan:
        case logical.Scan():
            of_position = plan.table.row_time and column == len(plan.table.columns)
            return 0 if of_position else plan.table.delay_us
        case logical.Union():
            return max(behind(branch, column) for branch in plan.branches)
        case logical.WindowAggregate():
            key = plan.keys[column]
            assert isinstance(key, ColumnRef)
            of_end, of_key = behind(plan.input, plan.window_end), behind(plan.input, key.index)
            windows = assigned(plan.input, plan.window_end)
            if not windows or assigned(plan.input, key.index) == windows:
                return max(of_end, of_key)
            # The time of a row in the window, which the window's end leads.
            return min(of_end + ahead(plan.input, plan.window_end) + of_key, LONGEST)
        case logical.AssignRowTime() | logical.AssignEnd() if column == len(plan.input.schema):
            return 2 * LONGEST if isinstance(plan, logical.AssignEnd) else 0
        case logical.AssignExpiry():
            waited = up(plan.wait_us, plan.grain_us) + plan.grain_us
            return min(plan.delay_us + (waited if column == plan.time_column else 0), LONGEST)
        case logical.AssignWindows() | logical.AssignSessions() if column >= len(plan.input.schema):
            later = logical.grain_us(plan) if isinstance(plan, logical.AssignSessions) else 0
            return min(behind(plan.input, plan.time_column) + later, LONGEST)
        case logical.Join():
            return behind_in_pair(plan, column)
        case logical.Project(expressions=made) if isinstance(made[column], Call):
            return behind_of_call(plan, column)
        case _:
            return behind(plan.inputs[0], source(plan, column))


def behind_of_call(plan: logical.Project, column: int) -> int:
    """Return the delay of a greatest time, of a time before another, or of one as its table declares it."""
    made = plan.expressions[column]
    if is_latest(made):
        return behind_of_latest(plan, column)
    below = behind(plan.input, source(plan, column))
    if not is_time_before(made):
        return below
    return min(below + up(before(made), logical.grain_us(plan)), LONGEST)


def ahead(  # noqa: PLR0911 - one line for each kind
    plan: logical.Plan, column: int
) -> int:
    """Return by how much an event-time column can lead: by the size of a window that is open."""
    match plan:
        case (
            logical.Scan()
            | logical.WindowAggregate()
            | logical.AssignSessions()
            | logical.AssignExpiry()
            | logical.Rank()
        ):
            return 0
        case logical.AssignRowTime() | logical.AssignEnd() if column == len(plan.input.schema):
            return 0
        case logical.Union():
            return max(ahead(branch, column) for branch in plan.branches)
        case logical.AssignWindows() if column >= len(plan.input.schema):
            size = up(plan.size_us + zones.spread(plan.zone), logical.grain_us(plan))
            return ahead(plan.input, plan.time_column) + size
        case logical.Project(expressions=made) if is_latest(made[column]):
            return max(ahead(each, 0) for each in one_by_one(plan, column))
        case logical.Join() if column >= len(plan.left.schema):
            return ahead(plan.right, column - len(plan.left.schema))
        case _:
            return ahead(plan.inputs[0], source(plan, column))


def assigned(plan: logical.Plan, column: int) -> list[logical.Plan]:
    """Return the operators that assign the windows whose end a column is, one for each branch."""
    match plan:
        case logical.AssignWindows() if column >= len(plan.input.schema):
            return [plan]
        case logical.Union():
            branches = [assigned(branch, column) for branch in plan.branches]
            return [each for branch in branches for each in branch] if all(branches) else []
        case logical.Join() if column >= len(plan.left.schema):
            return assigned(plan.right, column - len(plan.left.schema))
        case (
            logical.Scan()
            | logical.WindowAggregate()
            | logical.AssignSessions()
            | logical.AssignExpiry()
            | logical.Rank()
        ):
            return []
        case _:
            return assigned(plan.inputs[0], source(plan, column))


def source(plan: logical.Plan, column: int) -> int:
    """Return the column below that an event-time column is."""
    if not isinstance(plan, logical.Project):
        return column
    kept = plan.expressions[column]
    if isinstance(kept, Call) and is_time_before(kept):
        kept = kept.arguments[1]
    # What is no column is event time as a table declares it; all columns but PROCTIME() are alike here.
    return kept.index if isinstance(kept, ColumnRef) else 0


def is_time_before(expression: Expression) -> bool:
    """Return whether an expression is a time at most a constant before the event time that it names."""
    return isinstance(expression, Call) and expression.function == "time_before"


def before(expression: Expression) -> int:
    """Return that constant."""
    assert isinstance(expression, Call)
    length = expression.arguments[2]
    assert isinstance(length, Literal)
    assert isinstance(length.value, int)
    return length.value


def is_latest(expression: Expression) -> bool:
    """Return whether an expression is the greatest of several event times."""
    return isinstance(expression, Call) and expression.function == "greatest"


def one_by_one(plan: logical.Project, column: int) -> list[logical.Project]:
    """Return a projection for each argument of a column's GREATEST."""
    latest = plan.expressions[column]
    assert isinstance(latest, Call)
    return [logical.Project(plan.input, (each,), ("time",)) for each in latest.arguments]


def behind_of_latest(plan: logical.Project, column: int) -> int:
    """Return the delay of the greatest of several times: it is at least each of them.

    One row of a pair is the later one.  If the times of both are among the arguments, the greatest is not
    behind by more than the time of the later row, whichever it is.
    """
    made = one_by_one(plan, column)
    least = min(behind(each, 0) for each in made)
    ends = [column_of_join(each, 0) for each in made]
    for join, at in (end for end in ends if end is not None):
        bounds = join.time_range
        assert bounds is not None
        other = len(join.left.schema) + bounds.right_time
        if at == bounds.left_time and (join, other) in ends:
            alone = (
                behind(join.left, bounds.left_time),
                behind(join.right, bounds.right_time),
            )
            least = min(least, max(alone))
    return least


def column_of_join(plan: logical.Plan, column: int) -> tuple[logical.Join, int] | None:
    """Return the join with a time range of whose pairs a column is the time, unchanged; None for others."""
    while True:
        match plan:
            case logical.Join():
                return (plan, column) if plan.time_range is not None else None
            case logical.Project(expressions=made):
                if not isinstance(made[column], ColumnRef):
                    return None
            case logical.Filter() | logical.Over() | logical.Unnest() | logical.LateralAggregate():
                pass
            case logical.CountLateRows():
                pass
            case _:
                return None
        column, plan = source(plan, column), plan.inputs[0]


def behind_in_pair(plan: logical.Join, column: int) -> int:
    """Return the delay of a column of a join's pairs; without a time range, of its side."""
    width, bounds = len(plan.left.schema), plan.time_range
    in_left = column < width
    own, other = (plan.left, plan.right) if in_left else (plan.right, plan.left)
    column -= 0 if in_left else width
    alone = behind(own, column)
    if bounds is None:
        return alone
    times = bounds.left_time, bounds.right_time
    own_time, other_time = times if in_left else times[::-1]
    # The later row is of the other side; the range says how far back from it this one can be.
    lag = up(bounds.high_us if in_left else -bounds.low_us, logical.grain_us(plan))
    since = behind(other, other_time) + lag
    if column != own_time:
        since += alone + ahead(own, own_time)
    return min(max(alone, since), LONGEST)


def up(time: int, grain: int) -> int:
    """Return the least multiple of the grain from `time` on."""
    return -(-time // grain) * grain


def watermark(plan: logical.Join, bounds: logical.TimeRange, time: int) -> int:
    """Return the watermark by which a pair is too late, at a root position with `time`."""
    grain = logical.grain_us(plan)
    delay = max(behind(plan.left, bounds.left_time), behind(plan.right, bounds.right_time))
    return (time - delay) // grain * grain
