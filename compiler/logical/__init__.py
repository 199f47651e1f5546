"""The logical plan: typed relational operators over streams and tables.

Every operator derives its `schema` from its inputs.  Expressions refer to input columns by index.  The
meaning of each operator is defined over one totally ordered sequence of weighted rows: a row with weight
-1 retracts an equal row (a retraction, which has its own position).  A plan without ApplyChanges,
Aggregate and outer joins, in which each WindowAggregate and Rank is final, has only rows of weight +1, and so
have ToChangelog and a Rank at the end of the input; such a plan is *append-only* (`append_only`).

Positions.  A row's root position is (time, origin); a row that a punctuation caused has the
origin `PUNCTUATION`, which sorts before all rows of that time.  Below the root comes the path.  The
depth of a plan's paths is `depth(plan)`; every operator states what it does to the path.  Paths are
defined on the plan as bound, before any rule, and rules keep the order that they define.
"""

from __future__ import annotations

from fsql.compiler.logical.changes import (
    OPERATION,
    VALUE_MARKS,
    ApplyChanges,
    ToChangelog,
    mark_count,
)
from fsql.compiler.logical.declared import (
    OLD_ROW,
    ROW_TIME,
    ROWS_MAX,
    SPLITS_MAX,
    TABLES_MAX,
    Changes,
    SinkTable,
    Table,
    TimeKind,
)
from fsql.compiler.logical.groups import (
    Aggregate,
    FrameEnd,
    LateralAggregate,
    Over,
    OverCall,
    WindowAggregate,
)
from fsql.compiler.logical.job import Insert, Job
from fsql.compiler.logical.joins import HotKeys, Join, JoinKind, TimeRange, Union
from fsql.compiler.logical.plan import Plan
from fsql.compiler.logical.positions import (
    ROOT_LEVELS,
    append_only,
    close_time,
    depth,
    expiry_time,
    grain_us,
    has_expiring_rows,
    has_late_rows,
    least_scan_number,
    may_tie,
    operators,
    session_close_time,
    session_levels,
    tables,
    watermark_at,
)
from fsql.compiler.logical.rankings import OrderKey, Rank, RankFunction
from fsql.compiler.logical.rows import (
    REACHED,
    AssignEnd,
    AssignExpiry,
    AssignRowTime,
    AssignWindows,
    CountLateRows,
    Filter,
    Project,
    Scan,
    Unnest,
    WindowBound,
    behind_us,
    declared_event_time,
    latest_of,
    passed_time,
)
from fsql.compiler.logical.sessions import AssignSessions

__all__ = [
    "OLD_ROW",
    "OPERATION",
    "REACHED",
    "ROOT_LEVELS",
    "ROWS_MAX",
    "ROW_TIME",
    "SPLITS_MAX",
    "TABLES_MAX",
    "VALUE_MARKS",
    "Aggregate",
    "ApplyChanges",
    "AssignEnd",
    "AssignExpiry",
    "AssignRowTime",
    "AssignSessions",
    "AssignWindows",
    "Changes",
    "CountLateRows",
    "Filter",
    "FrameEnd",
    "HotKeys",
    "Insert",
    "Job",
    "Join",
    "JoinKind",
    "LateralAggregate",
    "OrderKey",
    "Over",
    "OverCall",
    "Plan",
    "Project",
    "Rank",
    "RankFunction",
    "Scan",
    "SinkTable",
    "Table",
    "TimeKind",
    "TimeRange",
    "ToChangelog",
    "Union",
    "Unnest",
    "WindowAggregate",
    "WindowBound",
    "append_only",
    "behind_us",
    "close_time",
    "declared_event_time",
    "depth",
    "expiry_time",
    "grain_us",
    "has_expiring_rows",
    "has_late_rows",
    "latest_of",
    "least_scan_number",
    "mark_count",
    "may_tie",
    "operators",
    "passed_time",
    "session_close_time",
    "session_levels",
    "tables",
    "watermark_at",
]
