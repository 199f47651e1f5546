"""The logical plan: typed relational operators over streams and tables.

Every operator derives its `schema` from its inputs.  Expressions refer to input columns by index.  The
meaning of each operator is given over one totally ordered sequence of weighted rows: a row with weight
-1 takes back an equal row (a retraction, with a position of its own).  A plan without Aggregate and
without a WindowAggregate that emits changes carries +1 rows only; it is *append-only* (`append_only`).

Positions.  A row's root position is (time, origin); a row that a punctuation caused has the
origin `PUNCTUATION`, which sorts before all rows of that time.  Below the root comes the path.  The
depth of a plan's paths is `depth(plan)`; every operator states what it does to the path.  Paths are
defined on the plan as bound, before any rule, and rules keep the order that they define.
"""

from __future__ import annotations

from fsql.compiler.logical.declared import (
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
from fsql.compiler.logical.joins import Join, TimeRange, Union
from fsql.compiler.logical.plan import Plan
from fsql.compiler.logical.positions import (
    append_only,
    close_time,
    depth,
    grain_us,
    least_scan_number,
    may_tie,
    operators,
    tables,
)
from fsql.compiler.logical.rows import (
    AssignWindows,
    Filter,
    Project,
    Scan,
    Unnest,
    declared_event_time,
)

__all__ = [
    "ROWS_MAX",
    "SPLITS_MAX",
    "TABLES_MAX",
    "Aggregate",
    "AssignWindows",
    "Changes",
    "Filter",
    "FrameEnd",
    "Insert",
    "Job",
    "Join",
    "LateralAggregate",
    "Over",
    "OverCall",
    "Plan",
    "Project",
    "Scan",
    "SinkTable",
    "Table",
    "TimeKind",
    "TimeRange",
    "Union",
    "Unnest",
    "WindowAggregate",
    "append_only",
    "close_time",
    "declared_event_time",
    "depth",
    "grain_us",
    "least_scan_number",
    "may_tie",
    "operators",
    "tables",
]
