"""The logical plan as text and as JSON.

A plan is drawn from the sink down to the scans. An operator with several readers is drawn once, above, as `r0
:= …`, and its readers refer to it.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.explain.document import json_text
from fsql.compiler.explain.expressions import expression_text, labels
from fsql.compiler.explain.literals import interval_text, name_text
from fsql.compiler.explain.operators import operator_parts
from fsql.compiler.explain.parts import fields, headline
from fsql.compiler.explain.scans import no_scan_lines
from fsql.compiler.explain.traits import (
    changes,
    columns_json,
    columns_text,
    key_names,
    operator_name,
    state_bound,
)
from fsql.compiler.explain.tree import Tree, draw
from fsql.compiler.logical import Changes, Insert, Job, Plan, Scan, operators
from fsql.compiler.serialize import operator_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.analysis.properties import Key
    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.logical import SinkTable, Table
    from fsql.compiler.schema import Schema


def logical_text(
    job: Job,
    *,
    details: bool = True,
    scan_lines: ScanLines = no_scan_lines,
    rows: Mapping[Plan, int] = MappingProxyType({}),
) -> str:
    """Return the plans of all INSERTs as trees.

    With `details`, each operator has lines for its columns and for its changes, key and state, and for the
    `rows` that it has returned in a run, if they are given.
    """
    queries = [insert.query for insert in job.inserts]
    drawing = _Drawing(queries, scan_lines, details=details, rows=rows)
    lines = drawing.shared_lines()
    for insert in job.inserts:
        above = _insert_details(insert) if details else ()
        query = drawing.tree(insert.query)
        lines += draw(Tree(f"Insert into {name_text(insert.sink.name)}", above, (query,)))
    return "\n".join(lines) + "\n"


def plan_text(plan: Plan, *, details: bool = False, given: Plan | None = None) -> str:
    """Return one plan as a tree; what is below `given` is left out, which is named `rows`."""
    drawing = _Drawing([plan], no_scan_lines, details=details, given=given)
    return "\n".join([*drawing.shared_lines(), *draw(drawing.tree(plan))]) + "\n"


def logical_json(job: Job, *, scan_lines: ScanLines = no_scan_lines) -> str:
    """Return the operators of all INSERTs, inputs before readers, and the INSERTs, as JSON."""
    plans = dict.fromkeys(node for insert in job.inserts for node in operators(insert.query))
    ids = {plan: number for number, plan in enumerate(plans)}
    names = operator_ids(job)
    return json_text(
        {
            "operators": [_plan_json(plan, ids, names, scan_lines) for plan in plans],
            "inserts": [
                {
                    "sink": insert.sink.name,
                    "input": ids[insert.query],
                    "changes": insert.sink.changes.value,
                    "key": _key_json(insert.sink.columns, insert.sink.key),
                    "operation_column": insert.sink.operation_column,
                    "columns": columns_json(insert.sink.columns),
                }
                for insert in job.inserts
            ],
        }
    )


def _plan_json(
    plan: Plan, ids: Mapping[Plan, int], names: Mapping[Plan, str], scan_lines: ScanLines
) -> JsonObject:
    key = next(iter(derived_keys(plan)), None)
    return {
        "id": ids[plan],
        "operator": operator_name(plan),
        "operator_id": names[plan],
        **fields(operator_parts(plan, scan_lines)),
        **({"time": _time_text(plan.table)} if isinstance(plan, Scan) else {}),
        "inputs": [ids[below] for below in plan.inputs],
        "changes": changes(plan, key).value,
        "key": _key_json(plan.schema, key),
        "state": state_bound(plan),
        "columns": columns_json(plan.schema),
    }


def _key_json(schema: Schema, key: Key | None) -> tuple[str, ...] | None:
    return None if key is None else key_names(schema, key)


class _Drawing:
    """The trees of several plans, and their shared parts."""

    def __init__(
        self,
        plans: list[Plan],
        scan_lines: ScanLines,
        *,
        details: bool,
        rows: Mapping[Plan, int] = MappingProxyType({}),
        given: Plan | None = None,
    ) -> None:
        found = dict.fromkeys(node for plan in plans for node in operators(plan))
        if given is not None:
            found = _above(plans, found, given)
        readers = Counter([*plans, *(below for node in found for below in node.inputs)])
        shared = [node for node in found if readers[node] > 1]
        self._names = {node: f"r{number}" for number, node in enumerate(shared)}
        self._trees: dict[Plan, Tree] = {}
        if given is not None:
            self._names.pop(given, None)
            self._trees[given] = Tree("rows")
        for node in found:
            head = headline(operator_name(node), operator_parts(node, scan_lines))
            below = tuple(self.tree(each) for each in node.inputs)
            above = _plan_details(node) if details else ()
            counted = (f"rows: {rows[node]:,}",) if node in rows else ()
            self._trees[node] = Tree(head, (*above, *counted), below)

    def shared_lines(self) -> list[str]:
        """Return the definitions of shared parts, each before its readers."""
        lines: list[str] = []
        for node, name in self._names.items():
            first, *others = draw(self._trees[node])
            lines += [f"{name} := {first}", *others]
        return lines

    def tree(self, plan: Plan) -> Tree:
        """Return the tree of `plan`, or a reference to it."""
        name = self._names.get(plan)
        return self._trees[plan] if name is None else Tree(name)


def _above(plans: list[Plan], found: Mapping[Plan, None], given: Plan) -> dict[Plan, None]:
    """Return the operators that read `given`, or anything else, inputs before readers."""
    reached = set(plans)
    for node in reversed([*found]):
        if node in reached and node is not given:
            reached.update(node.inputs)
    return {node: None for node in found if node in reached and node is not given}


def _plan_details(plan: Plan) -> tuple[str, ...]:
    key = next(iter(derived_keys(plan)), None)
    kind = f"changes: {changes(plan, key).value}"
    unique = "" if key is None else f"; key: ({', '.join(key_names(plan.schema, key))})"
    facts = f"{kind}{unique}; state: {state_bound(plan)}"
    if isinstance(plan, Scan):
        facts = f"time: {_time_text(plan.table)}"
    columns = _new_columns_text(plan)
    return (f"columns: {columns}", facts) if columns else (facts,)


def _new_columns_text(plan: Plan) -> str:
    """Return the columns of `plan`, without those that it only copies from its single input."""
    if len(plan.inputs) != 1:
        return columns_text(plan.schema)
    (below,) = (node.schema for node in plan.inputs)
    if plan.schema[: len(below)] != below:
        return columns_text(plan.schema)
    added = plan.schema[len(below) :]
    return f"those below, {columns_text(added)}" if added else ""


def _insert_details(insert: Insert) -> tuple[str, ...]:
    sink = insert.sink
    unique = "" if sink.key is None else f"; key: ({', '.join(key_names(sink.columns, sink.key))})"
    operation = "" if sink.changes is Changes.APPEND else f"; operation in {_operation(sink)}"
    return (
        f"columns: {columns_text(sink.columns)}",
        f"changes: {sink.changes.value}{unique}{operation}",
    )


def _operation(sink: SinkTable) -> str:
    return name_text(sink.operation_column)


def _time_text(table: Table) -> str:
    """Return the source of the times of the table's positions, and the delay of the watermark."""
    if table.event_time is None:
        return table.time.value
    time = expression_text(table.event_time, labels(table.columns))
    grain = interval_text(table.grain_us)
    return f"{table.time.value} {time}; delay {interval_text(table.delay_us)}; grain {grain}"
