"""The boxes of the pictures of a logical plan: one for each operator and each INSERT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.explain.literals import name_text
from fsql.compiler.explain.operators import operator_parts
from fsql.compiler.explain.parts import headline
from fsql.compiler.explain.traits import changes, operator_name, state_bound
from fsql.compiler.logical import Scan, operators
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.logical import Job, Plan

NO_STATE: Final = "none"


@dataclass(frozen=True, slots=True)
class LogicalBox:
    """A box; `inputs` are the indexes of earlier boxes, `is_end` marks a table that is read or written.

    `rows` is the number of rows that it has returned in a run; None if that is not known.
    """

    name: str
    does: str
    changes: str
    state: str
    inputs: tuple[int, ...]
    is_end: bool = False
    rows: int | None = None


def logical_boxes(job: Job, scan_lines: ScanLines, rows: Mapping[Plan, int]) -> list[LogicalBox]:
    """Return the boxes of a plan: operators, each after its inputs, and then the INSERTs."""
    plans = dict.fromkeys(node for insert in job.inserts for node in operators(insert.query))
    numbers = {plan: number for number, plan in enumerate(plans)}
    boxes = [
        LogicalBox(
            operator_name(plan),
            headline("", operator_parts(plan, scan_lines)).strip(),
            changes(plan, next(iter(derived_keys(plan)), None)).value,
            state_bound(plan),
            tuple(dict.fromkeys(numbers[below] for below in plan.inputs)),
            isinstance(plan, Scan),
            rows.get(plan),
        )
        for plan in plans
    ]
    for insert in job.inserts:
        sink, query = insert.sink, numbers[insert.query]
        does = f"into {name_text(sink.name)}"
        boxes.append(
            LogicalBox("Insert", does, sink.changes.value, NO_STATE, (query,), is_end=True)
        )
    return boxes
