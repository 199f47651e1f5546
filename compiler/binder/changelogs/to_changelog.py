"""TO_CHANGELOG: the changes of a table as append-only rows with an operation in a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import derived_keys, latest_keys
from fsql.compiler.binder.changelogs.changelog_arguments import (
    TO_CHANGELOG,
    mapping_pairs,
    operation_name,
    wrong_argument,
)
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.scope import Field, matches
from fsql.compiler.binder.windows.session import partition_of_table
from fsql.compiler.expression import Case, Expression, InSet, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.logical import OPERATION, ToChangelog, append_only
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.sqltypes import BOOLEAN, NULL, STRING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


_KINDS: Final[Mapping[str, str]] = {
    "INSERT": "+I",
    "UPDATE_BEFORE": "-U",
    "UPDATE_AFTER": "+U",
    "DELETE": "-D",
}
"""The kinds of change by the names that the mapping and the result have for them."""


def to_changelog(relation: Relation, given: Mapping[str, object], context: Context) -> Relation:
    """Return the changes of `relation` as rows with an operation.

    Raises:
        Refusal: E203, E204, E307.
    """
    data = given["INPUT"]
    assert isinstance(data, syntax.TableArgument)
    operation = operation_name(TO_CHANGELOG, given.get("OP"), data.span)
    same = next((field for field in relation.named if matches(operation, field.name)), None)
    if same is not None:
        what = f'its input has a column "{same.name}" already; name another by op => DESCRIPTOR(…)'
        raise wrong_argument(TO_CHANGELOG, what, operation.span)
    codes = _codes(given.get("OP_MAPPING"))
    full_deletes = _full_deletes(given.get("PRODUCES_FULL_DELETES"))
    below = _visible(relation)
    partition = _partition(relation, data, context)
    if append_only(below) and "+I" in codes:
        codes = {"+I": codes["+I"]}
    changes, key = _changes(below, partition)
    context.source_spans.add(changes, data.span)
    rows = filter_relation(changes, _is_mapped(changes, codes))
    columns = column_refs(rows)
    kind = columns[len(below.schema)]
    if not full_deletes and not append_only(below):
        if key is None:
            what = "rows without a key cannot be deleted by it; write PARTITION BY and its columns"
            raise wrong_argument(TO_CHANGELOG, what, data.span)
        columns = [
            each if index in key else _unless_deleted(each, kind)
            for index, each in enumerate(columns)
        ]
    order = [*partition, len(below.schema)]
    order += [index for index in range(len(below.schema)) if index not in partition]
    columns[len(below.schema)] = _code(kind, codes)
    names = [*(field.name for field in relation.named), operation.name]
    plan = project(rows, [columns[each] for each in order], [names[each] for each in order])
    qualifiers = [*(field.qualifier for field in relation.named), None]
    return Relation(
        plan,
        tuple(
            Field(qualifiers[each], names[each], place, plan.schema[place])
            for place, each in enumerate(order)
        ),
    )


def _visible(relation: Relation) -> Plan:
    """Return the rows with only the named columns, which are those of a change."""
    values = [field.expression for field in relation.named]
    typed = [coerce(each, STRING) if each.type == NULL else each for each in values]
    return project(relation.plan, typed, [field.name for field in relation.named])


def _partition(relation: Relation, data: syntax.TableArgument, context: Context) -> tuple[int, ...]:
    """Return the indexes of the columns that PARTITION BY names."""
    keys = partition_of_table(relation, data.partition_by, context)
    places = {field.expression: place for place, field in enumerate(relation.named)}
    if not all(key in places for key in keys):
        raise wrong_argument(
            TO_CHANGELOG, "PARTITION BY must name the columns of the key", data.span
        )
    return tuple(dict.fromkeys(places[key] for key in keys))


def _changes(below: Plan, partition: tuple[int, ...]) -> tuple[Plan, tuple[int, ...] | None]:
    """Return the changes with their kinds in a last column, and the key by which they are labelled."""
    keys = derived_keys(below) or (() if append_only(below) else latest_keys(below))
    key = partition or (keys[0] if keys else None)
    if append_only(below):
        names = [*(column.name for column in below.schema), OPERATION]
        return project(below, [*column_refs(below), _text("+I")], names), key
    return ToChangelog(below, key), key


def _codes(written: object) -> dict[str, str]:
    """Return the code of each kind of change that is mapped, in the order of the mapping.

    One text may list several kinds: 'INSERT, UPDATE_AFTER'.
    """
    if written is None:
        return {kind: name for name, kind in _KINDS.items()}
    codes: dict[str, str] = {}
    pairs, span = mapping_pairs(TO_CHANGELOG, written)
    for listed, code in pairs:
        for name in listed.split(","):
            kind = _KINDS.get(name.strip())
            if kind is None:
                what = f"'{name.strip()}' in op_mapping is none of {', '.join(_KINDS)}"
                raise wrong_argument(TO_CHANGELOG, what, span)
            if kind in codes:
                what = f"op_mapping maps {name.strip()} twice"
                raise wrong_argument(TO_CHANGELOG, what, span)
            codes[kind] = code
    return codes


def _full_deletes(written: object) -> bool:
    """Return whether rows of DELETE have the values of all columns."""
    if written is None:
        return True
    if not isinstance(written, syntax.BooleanLiteral):
        span: Span = getattr(written, "span")  # noqa: B009 - any kind of argument
        raise wrong_argument(TO_CHANGELOG, "produces_full_deletes must be TRUE or FALSE", span)
    return written.value


def _is_mapped(changes: Plan, codes: Mapping[str, str]) -> Sequence[Expression]:
    """Return the condition that a change is mapped; nothing if all are."""
    kinds = ["+I"] if append_only(changes.inputs[0]) else [*_KINDS.values()]
    if all(kind in codes for kind in kinds):
        return ()
    kind = column_refs(changes)[-1]
    values = tuple(each for each in _KINDS.values() if each in codes)
    if len(values) == 1:
        return (call("eq", kind, _text(values[0])),)
    return (InSet(BOOLEAN, nullable=False, argument=kind, values=values),)


def _code(kind: Expression, codes: Mapping[str, str]) -> Expression:
    """Return the code of a kind of change; only mapped kinds are left."""
    *first, (_, last) = codes.items()
    if not first:
        return _text(last)
    branches = tuple((call("eq", kind, _text(each)), _text(code)) for each, code in first)
    return Case(STRING, nullable=False, branches=branches, otherwise=_text(last))


def _unless_deleted(column: Expression, kind: Expression) -> Expression:
    """Return an expression that is NULL for a row that is deleted by its key."""
    nothing = Literal(column.type, nullable=True, value=None)
    deleted = (call("eq", kind, _text("-D")), nothing)
    return Case(column.type, nullable=True, branches=(deleted,), otherwise=column)


def _text(value: str) -> Expression:
    return Literal(STRING, nullable=False, value=value)
