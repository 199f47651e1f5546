"""The tick plan as text and as JSON.

    stage 0: Source bids
      s0 ← head  Read bids; line 3
      s1 ← s0    Select price > 100
      send s1 → stage 1, exchanged by auction
    stage 1: Fold CombineAggregate by auction; compute COUNT(*) AS n
      policy: speculative, checks the cost of repairs after 1,000 rows; operator: aggregate-9eb4783324bd
      send head → sink 0 (busy)

The name of a step is unique in its stage; `head` is the beginning of the stage.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.compiler import tick_plan as t
from fsql.compiler.explain.choices import linger_text, pre_aggregation_text, rebalanced_text
from fsql.compiler.explain.document import json_text
from fsql.compiler.explain.functions import combine_parts, function_name, function_parts, key_texts
from fsql.compiler.explain.literals import name_text
from fsql.compiler.explain.parts import Part, fields, headline
from fsql.compiler.explain.scans import no_scan_lines, scan_parts
from fsql.compiler.explain.traits import columns_json, columns_text, key_names
from fsql.compiler.graph import ScanRows
from fsql.compiler.logical import Scan
from fsql.compiler.owner_map import BINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.owner_map import OwnerMap

_NO_FIELDS: Final[JsonObject] = MappingProxyType({})


def tick_text(
    plan: t.TickPlan, *, details: bool = True, scan_lines: ScanLines = no_scan_lines
) -> str:
    """Return the stages, the barrier's ports, the owners of hash bins, and the reasons for the choices.

    With `details`, the columns of each head and of each step that changes them are shown.
    `scan_lines` returns the lines of the script on which a table is read.
    """
    lines: list[str] = []
    for number, stage in enumerate(plan.stages):
        lines += _stage_lines(plan, number, stage, scan_lines, details=details)
    lines += [f"sink {number}: {_port_text(port)}" for number, port in enumerate(plan.sinks)]
    lines += [f"late rows {i}: {origin}" for i, origin in enumerate(plan.late_windows)]
    lines.append(f"hash bins of {plan.workers} {'worker' if plan.workers == 1 else 'workers'}:")
    owners = plan.assignment.owners
    lines += _range_lines(owners.every)
    for exchange, of in owners.exchanges:
        lines += [f"hash bins of {exchange}:", *_range_lines(of)]
    if plan.reasons:
        lines += ["reasons:", *(f"  {reason}" for reason in plan.reasons)]
    return "\n".join(lines) + "\n"


def tick_json(
    plan: t.TickPlan, *, scan_lines: ScanLines = no_scan_lines, more: JsonObject = _NO_FIELDS
) -> str:
    """Return the tick plan as JSON; `more` has further fields."""
    return json_text(
        {
            "stages": [_stage_json(stage, scan_lines) for stage in plan.stages],
            "sinks": [_port_json(port) for port in plan.sinks],
            "late_windows": list(plan.late_windows),
            "owners": _ranges_json(plan.assignment.owners.every),
            "exchanges": {
                exchange: _ranges_json(of) for exchange, of in plan.assignment.owners.exchanges
            },
            "reasons": [str(reason) for reason in plan.reasons],
            **more,
        }
    )


def _range_lines(owners: OwnerMap) -> list[str]:
    return [
        f"  worker {worker}: [{first}, {end}), {(end - first) / BINS:.1%} of all bins"
        for worker, first, end in owners.ranges
    ]


def _ranges_json(owners: OwnerMap) -> list[JsonObject]:
    return [{"worker": worker, "from": first, "to": end} for worker, first, end in owners.ranges]


def _stage_lines(
    plan: t.TickPlan, number: int, stage: t.Stage, scan_lines: ScanLines, *, details: bool
) -> Iterator[str]:
    yield f"stage {number}: {_head_text(stage.head)}"
    if isinstance(stage.head, t.FoldHead):
        yield f"  policy: {_policy_text(stage.head)}; operator: {stage.head.operator}"
        if stage.head.marks_replacements:
            yield "  marks replacements, retracts nothing"
    else:
        if stage.head.rebalanced:
            yield f"  rows: {rebalanced_text(stage.head.rebalanced)}"
        if stage.head.linger_ms:
            yield f"  linger: {linger_text(stage.head.linger_ms)}"
    if details:
        yield f"  columns: {columns_text(t.schema_of(stage, t.HEAD))}"
    width = max((len(_step_name(step.input)) for step in stage.steps), default=0)
    for index, step in enumerate(stage.steps):
        name, below = f"s{index}".ljust(len(f"s{len(stage.steps) - 1}")), _step_name(step.input)
        yield f"  {name} ← {below.ljust(width)}  {_step_text(stage, step, scan_lines)}"
        if details and step.schema != t.schema_of(stage, step.input):
            yield f"  {' ' * len(name)}   {' ' * width}    columns: {columns_text(step.schema)}"
    yield from (
        f"  send {_step_name(send.step)} → {_target_text(plan, stage, send)}"
        for send in stage.sends
    )


def _policy_text(head: t.FoldHead) -> str:
    if head.policy is t.Policy.ORDERED:
        return head.policy.value
    return f"{head.policy.value}, checks the cost of repairs after {head.repairs_free:,} rows"


def _step_name(index: int) -> str:
    return "head" if index == t.HEAD else f"s{index}"


def _head_name(head: t.SourceHead | t.FoldHead) -> str:
    return "Source" if isinstance(head, t.SourceHead) else f"Fold {type(head.combine).__name__}"


def _head_parts(head: t.SourceHead | t.FoldHead) -> tuple[Part, ...]:
    if isinstance(head, t.SourceHead):
        return (Part("table", "", name_text(head.table.name)),)
    below = tuple(column for schema, _ in head.inputs for column in schema)
    return combine_parts(head.combine, below, head.schema)


def _head_text(head: t.SourceHead | t.FoldHead) -> str:
    return headline(_head_name(head), _head_parts(head))


def _step_text(stage: t.Stage, step: t.Step, scan_lines: ScanLines) -> str:
    return headline(function_name(step.function), _step_parts(stage, step, scan_lines))


def _step_parts(stage: t.Stage, step: t.Step, scan_lines: ScanLines) -> tuple[Part, ...]:
    if isinstance(step.function, ScanRows) and isinstance(stage.head, t.SourceHead):
        return scan_parts(Scan(stage.head.table, step.function.ordinal), scan_lines)
    return function_parts(step.function, t.schema_of(stage, step.input), step.schema)


def _target_text(plan: t.TickPlan, stage: t.Stage, send: t.Send) -> str:
    match send.to:
        case t.ToFold(stage=number, side=side, keys=keys):
            head = plan.stages[number].head
            two = isinstance(head, t.FoldHead) and len(head.inputs) == 2
            where = f"stage {number}, {'right' if side else 'left'}" if two else f"stage {number}"
            by = ", ".join(key_texts(keys, t.schema_of(stage, send.step)))
            text = f"{where}, exchanged by {by}" if by else f"{where}, to one worker"
            if send.to.placement is not t.Placement.OWNER:
                to_all = send.to.placement is t.Placement.EVERY
                text = f"{where}, {'to all workers' if to_all else 'not exchanged'}"
            if send.to.pre_aggregates:
                text += f", {pre_aggregation_text(send.to.pre_aggregates)}"
            return text
        case t.ToSink(insert=insert):
            return f"sink {insert} ({name_text(plan.sinks[insert].table.name)})"
        case t.ToLate(window=window):
            return f"late rows {window}"


def _port_text(port: t.SinkPort) -> str:
    table = port.table
    facts = [f"{name_text(table.name)}: {table.changes.value}"]
    if table.key is not None:
        facts.append(f"key: ({', '.join(key_names(table.columns, table.key))})")
    if port.consolidated:
        facts.append("comes consolidated")
    if port.marked:
        facts.append("replacements are marked")
    return "; ".join(facts)


def _stage_json(stage: t.Stage, scan_lines: ScanLines) -> JsonObject:
    head = stage.head
    more: JsonObject = {}
    if isinstance(head, t.FoldHead):
        more = {
            "operator_id": head.operator,
            "policy": head.policy.value,
            "repairs_free": head.repairs_free,
            "marks_replacements": head.marks_replacements,
        }
    else:
        chosen = {"rebalanced": head.rebalanced, "linger_ms": head.linger_ms}
        more = {name: value for name, value in chosen.items() if value}
    return {
        "head": {
            "operation": _head_name(head),
            **fields(_head_parts(head)),
            **more,
            "columns": columns_json(t.schema_of(stage, t.HEAD)),
        },
        "steps": [
            {
                "function": function_name(step.function),
                **fields(_step_parts(stage, step, scan_lines)),
                "input": _step_name(step.input),
                "origin": step.origin,
                "depth": step.depth,
                "columns": columns_json(step.schema),
            }
            for step in stage.steps
        ],
        "sends": [_send_json(stage, send) for send in stage.sends],
    }


def _send_json(stage: t.Stage, send: t.Send) -> JsonObject:
    step: JsonObject = {"step": _step_name(send.step)}
    match send.to:
        case t.ToFold(stage=number, side=side, keys=keys):
            by = key_texts(keys, t.schema_of(stage, send.step))
            least = {"pre_aggregates": send.to.pre_aggregates} if send.to.pre_aggregates else {}
            placement = send.to.placement
            copied = {} if placement is t.Placement.OWNER else {"placement": placement.value}
            return {**step, "stage": number, "side": side, "exchanged_by": by, **least, **copied}
        case t.ToSink(insert=insert):
            return {**step, "sink": insert}
        case t.ToLate(window=window):
            return {**step, "late_rows": window}


def _port_json(port: t.SinkPort) -> JsonObject:
    key = port.table.key
    return {
        "table": port.table.name,
        "changes": port.table.changes.value,
        "key": None if key is None else key_names(port.table.columns, key),
        "append_only": port.append_only,
        "depth": port.depth,
        "consolidated": port.consolidated,
        "marked": port.marked,
    }
