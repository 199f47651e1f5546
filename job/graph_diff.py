"""The effect of a changed script on the state of a job: which operators keep it, lose it or begin without.

Operators are compared by their content ids: operators with equal ids compute the same from the same tables,
so they have the same state.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.explain.operators import operator_parts
from fsql.compiler.explain.parts import headline
from fsql.compiler.explain.traits import operator_name
from fsql.compiler.records import dataclass
from fsql.connectors.live.kinds import needs_front_log
from fsql.connectors.settings import settings_of
from fsql.job.result_differences import output_differences
from fsql.job.state_operators import state_operators

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.compiler.logical import Job, Plan
    from fsql.job.description import JobDescription
    from fsql.job.result_differences import OutputDifference
    from fsql.runtime.cluster.snapshots.manifest import Manifest


class StateChange(enum.Enum):
    """The permitted effect of a changed plan on the state of the previous plan."""

    KEEP = "keep"
    """All state is kept, and no operator begins without state."""

    LOSE = "lose"
    """State of removed operators is dropped; new ones begin empty at the position of the change."""

    REBUILD = "rebuild"
    """All operators are rebuilt by reading the input again; rows that sinks have are not written again."""


class StateEffect(enum.Enum):
    """What happens to an operator's state."""

    KEPT = "kept"
    REBUILT = "rebuilt"
    EMPTY = "begins empty"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class OperatorEffect:
    """A stateful operator, the effect on it, and the reason; `rows` and `size` are those of its state."""

    operator: str
    text: str
    effect: StateEffect
    reason: str
    rows: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """The differences between two plans; `tables` and `outputs` are names."""

    operators: tuple[OperatorEffect, ...]
    outputs_kept: tuple[str, ...]
    outputs_added: tuple[str, ...]
    outputs_dropped: tuple[str, ...]
    tables_added: tuple[str, ...]
    tables_dropped: tuple[str, ...]
    position: tuple[int, int] | None
    differences: tuple[OutputDifference, ...] = ()
    """What updating outputs get at the position of the change."""

    @property
    def inconsistent(self) -> tuple[str, ...]:
        """Return the outputs whose changes would not add up across the position of the change."""
        return tuple(each.output for each in self.differences if each.reason is not None)

    def operators_with(self, effect: StateEffect) -> list[OperatorEffect]:
        """Return the operators on which the effect is `effect`."""
        return [each for each in self.operators if each.effect is effect]

    @property
    def kept_bytes(self) -> int:
        """Return the size of the state that is kept."""
        return sum(each.size for each in self.operators_with(StateEffect.KEPT))


def compare(
    old: Job,
    new: Job,
    change: StateChange,
    manifest: Manifest | None,
    begun: JobDescription | None = None,
) -> GraphDiff:
    """Return the effect on each operator; sizes are those in `manifest`.

    `begun` is the description of the job as it is.
    """
    before, after = state_operators(old), state_operators(new)
    rows: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for segment in () if manifest is None else manifest.segments:
        rows[segment.operator] = rows.get(segment.operator, 0) + segment.rows
        sizes[segment.operator] = sizes.get(segment.operator, 0) + segment.size
    gone = {name: plan for name, plan in before.items() if name not in after}

    def effect_of(name: str, plan: Plan) -> OperatorEffect:
        if change is StateChange.REBUILD:
            effect, reason = StateEffect.REBUILT, "the input is read again"
        elif name in before:
            effect, reason = StateEffect.KEPT, "it computes the same from the same tables"
        else:
            effect, reason = StateEffect.EMPTY, _why_new(plan, gone.values())
        return OperatorEffect(
            name, _text(plan), effect, reason, rows.get(name, 0), sizes.get(name, 0)
        )

    effects = [effect_of(name, plan) for name, plan in after.items()]
    for name, plan in gone.items():
        reason = "no operator of the new plan computes the same"
        effects.append(
            OperatorEffect(
                name,
                _text(plan),
                StateEffect.DROPPED,
                reason,
                rows.get(name, 0),
                sizes.get(name, 0),
            )
        )
    kept = {each.operator for each in effects if each.effect is StateEffect.KEPT}
    old_outputs, new_outputs = _outputs(old), _outputs(new)
    old_tables = [table.name for table in old.tables]
    new_tables = [table.name for table in new.tables]
    return GraphDiff(
        tuple(effects),
        _both(old_outputs, new_outputs),
        _only(new_outputs, old_outputs),
        _only(old_outputs, new_outputs),
        _only(new_tables, old_tables),
        _only(old_tables, new_tables),
        None if manifest is None else manifest.position,
        output_differences(
            old,
            new,
            kept,
            rebuilt=change is StateChange.REBUILD,
            unreleased=unreleased(begun, manifest),
            dropped={} if begun is None else begun.dropped_columns,
        ),
    )


def unreleased(begun: JobDescription | None, manifest: Manifest | None) -> Mapping[str, str]:
    """Return the files with what outputs get at a snapshot because of an earlier change of the plan."""
    stored = None if begun is None else begun.differences
    if stored is None or manifest is None or stored.position != manifest.position:
        return {}
    return stored.files


def check_consistent(diff: GraphDiff) -> None:
    """Check that the changes of each output add up across the position of the change.

    Raises:
        FsqlError: E638, if an output would retract rows that it does not have, or keep old ones.
    """
    for difference in diff.differences:
        if difference.reason is not None:
            raise inconsistent_error(difference.output, difference.reason)


def inconsistent_error(output: str, reason: str) -> FsqlError:
    """Return the error for an output for which the difference of both results cannot be computed."""
    return _refusal(
        f'the changes of output "{output}" would not add up: {reason}',
        "deploy the script under another name, with new outputs",
        "or accept such changes: --allow-inconsistent",
        notes=(
            "the output would need the difference of the old and the new result",
            "without it, changes retract rows that were never written, and leave old rows in place",
        ),
    )


def check_change(diff: GraphDiff, old: Job, new: Job, change: StateChange) -> None:
    """Check that a change was requested, and that it is possible.

    Raises:
        FsqlError: E638, if state would be lost, or cannot be rebuilt.
    """
    if change is StateChange.REBUILD:
        _check_rebuild(old, new)
        return
    if diff.tables_added:
        name = diff.tables_added[0]
        message = (
            f'table "{name}" is new: its rows below the position of the change would be missing'
        )
        raise _refusal(message, "read all input again: --rebuild", "or deploy another job")
    lost = [*diff.operators_with(StateEffect.DROPPED), *diff.operators_with(StateEffect.EMPTY)]
    if lost and change is StateChange.KEEP:
        notes = tuple(f"{each.text}: {each.effect.value}, {each.reason}" for each in lost)
        raise _refusal(
            "the change would lose state",
            "recompute it from the input: --rebuild",
            "or continue without it: --allow-state-loss",
            notes=notes,
        )


def _check_rebuild(old: Job, new: Job) -> None:
    for table in new.tables:
        if needs_front_log(table):
            message = f'table "{table.name}" cannot be read again, so state cannot be rebuilt'
            raise _refusal(message, "continue without the state: --allow-state-loss")
    for insert in (*old.inserts, *new.inserts):
        if settings_of(insert.sink.options).text("delivery") != "exactly-once":
            message = f'table "{insert.sink.name}" is not exactly-once: rows would be written again'
            raise _refusal(message, "continue without the state: --allow-state-loss")


def _refusal(message: str, *helps: str, notes: tuple[str, ...] = ()) -> FsqlError:
    return FsqlError([Diagnostic("E638", message, notes=notes, helps=helps)])


def _why_new(plan: Plan, gone: Iterable[Plan]) -> str:
    """Return why there is no state for an operator."""
    same_kind = [each for each in gone if type(each) is type(plan)]
    if any(_text(each) == _text(plan) for each in same_kind):
        return "its input changed"
    if same_kind:
        return f"it changed; it was {_text(same_kind[0])}"
    return "it is new"


def _text(plan: Plan) -> str:
    return headline(operator_name(plan), operator_parts(plan))


def _outputs(job: Job) -> list[str]:
    return [insert.sink.name for insert in job.inserts]


def _both(one: list[str], other: list[str]) -> tuple[str, ...]:
    return tuple(name for name in one if name in other)


def _only(one: list[str], other: list[str]) -> tuple[str, ...]:
    return tuple(name for name in one if name not in other)
