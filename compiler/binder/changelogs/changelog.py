"""FROM_CHANGELOG: the table that results from append-only rows with an operation in a column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.changelogs.changelog_arguments import (
    FROM_CHANGELOG,
    mapping_pairs,
    operation_name,
    wrong_argument,
)
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.scope import matches
from fsql.compiler.binder.windows.session import partition_of_table
from fsql.compiler.expression import Case, ColumnRef, Expression, InSet, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import ApplyChanges, append_only
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.sqltypes import BOOLEAN, STRING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


_KINDS: Final[Mapping[str, str]] = {
    "INSERT": "+U",
    "UPDATE_BEFORE": "-U",
    "UPDATE_AFTER": "+U",
    "DELETE": "-D",
}
"""The kinds of change to which operations are mapped, with their effect on the row of a key.

Without a key, UPDATE_BEFORE removes a row as DELETE does; with one, only if it equals the row that is kept.
"""


def from_changelog(relation: Relation, given: Mapping[str, object], context: Context) -> Relation:
    """Return the table that results from the rows of `relation`, without their operation.

    Raises:
        Refusal: E203, E307, E310.
    """
    data = given["INPUT"]
    assert isinstance(data, syntax.TableArgument)
    if not append_only(relation.plan):
        raise refusal(
            "E310",
            "the input of FROM_CHANGELOG must be append-only",
            data.span,
            help="use the table itself: its changes are applied already",
        )
    keys = partition_of_table(relation, data.partition_by, context)
    indexes = list(dict.fromkeys(key.index for key in keys if isinstance(key, ColumnRef)))
    operation = _operation_column(relation, given.get("OP"), data.span)
    if len(indexes) < len(set(keys)) or operation in indexes:
        raise _wrong("PARTITION BY must name the columns of the key", data.span)
    codes = _codes(given.get("OP_MAPPING"))
    if not keys:
        _check_whole_rows(codes, data.span)
    others = [field for field in relation.named if field.index != operation]
    below = _mapped_rows(relation.plan, operation, codes, given.get("ERROR_HANDLING"))
    kind, failing = _kind(column_refs(below)[operation], codes)
    mapping = given.get("OP_MAPPING")
    context.source_spans.add(kind, data.span)
    # The message for an operation that is not mapped lists those that are.
    context.source_spans.add(
        failing, mapping.span if isinstance(mapping, syntax.Syntax) else data.span
    )
    names = [*(column.name for column in below.schema), "kind"]
    kinds = project(below, [*column_refs(below), kind], names)
    replaces = "UPDATE_BEFORE" in codes.values()
    table, order = _table(kinds, indexes, [each.index for each in others], replaces=replaces)
    context.source_spans.add(table, data.span)
    rows = column_refs(table)
    plan = project(
        table, [rows[order.index(each.index)] for each in others], [each.name for each in others]
    )
    fields = tuple(
        type(each)(each.qualifier, each.name, i, plan.schema[i]) for i, each in enumerate(others)
    )
    return Relation(plan, fields)


def _table(
    kinds: Plan, key: Sequence[int], columns: Sequence[int], *, replaces: bool
) -> tuple[ApplyChanges, Sequence[int]]:
    """Return the table of changes that end with their kind, and which columns of theirs it has, in order.

    With `replaces` there may be rows before updates, which remove rows that equal them.
    """
    of_changes = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(kinds.schema)]
    kind = of_changes[-1]
    if not key:
        rows = tuple(of_changes[each] for each in columns)
        is_added = call("and", _is_not(kind, "-U"), _is_not(kind, "-D"))
        return ApplyChanges(kinds, rows, is_added, (), counted=True), columns
    values = [each for each in columns if each not in key]
    compared = [i for i, each in enumerate(values) if not kinds.schema[each].time_attribute]
    table = ApplyChanges(
        kinds,
        tuple(of_changes[each] for each in key),
        _is_not(kind, "-D"),
        tuple(of_changes[each] for each in values),
    )
    if replaces:
        present = call("and", _is_not(kind, "-U"), table.present)
        whole = call("not", _is_not(kind, "-U")) if compared else None
        table = replace(table, present=present, whole=whole, compared=tuple(compared))
    return table, [*key, *values]


def _check_whole_rows(codes: Mapping[str, str], span: Span) -> None:
    """Check that rows without a key are not replaced by a new row alone.

    Raises:
        Refusal: E307.
    """
    if "UPDATE_AFTER" in codes.values() and "UPDATE_BEFORE" not in codes.values():
        raise refusal(
            "E307",
            "invalid arguments of FROM_CHANGELOG: UPDATE_AFTER without UPDATE_BEFORE, and no PARTITION BY",
            span,
            note="the row that is replaced is found by its key, or is that of UPDATE_BEFORE",
            help="write PARTITION BY and the columns of the key after the table, or map UPDATE_BEFORE",
        )


def _mapped_rows(
    below: Plan, operation: int, codes: Mapping[str, str], error_handling: object
) -> Plan:
    """Return the rows; with `error_handling => 'SKIP'`, those whose operation is mapped.

    Raises:
        Refusal: E307.
    """
    if error_handling is None:
        return below
    handling = error_handling.value if isinstance(error_handling, syntax.StringLiteral) else None
    if handling not in {"FAIL", "SKIP"}:
        span: Span = getattr(error_handling, "span")  # noqa: B009 - any kind of argument
        raise _wrong("error_handling must be 'FAIL' or 'SKIP'", span)
    if handling == "FAIL":
        return below
    kept = InSet(
        BOOLEAN, nullable=True, argument=column_refs(below)[operation], values=tuple(codes)
    )
    return filter_relation(below, [kept])


def _operation_column(relation: Relation, written: object, span: Span) -> int:
    """Return the index of the column with the operation, `op` by default."""
    name = operation_name(FROM_CHANGELOG, written, span)
    found = [field for field in relation.named if matches(name, field.name)]
    if len(found) != 1 or found[0].column.type != STRING:
        raise _wrong(f'the operation "{name.name}" must be a STRING column of the input', name.span)
    return found[0].index


def _codes(written: object) -> dict[str, str]:
    """Return the kind of each operation; one text may list several: 'c, r'."""
    if written is None:
        return {kind: kind for kind in _KINDS}
    codes: dict[str, str] = {}
    pairs, span = mapping_pairs(FROM_CHANGELOG, written)
    for listed, kind in pairs:
        for code in listed.split(","):
            if kind not in _KINDS or code.strip() in codes:
                raise _wrong(
                    f"op_mapping maps each operation once, to one of {', '.join(_KINDS)}", span
                )
            codes[code.strip()] = kind
    return codes


def _kind(operation: Expression, codes: Mapping[str, str]) -> tuple[Expression, Expression]:
    """Return the kind of change of a row, and the part that fails (E503) if its operation has none."""
    unknown = call("unmapped_operation", operation)
    branches = tuple(
        (call("eq", operation, _text(code)), _text(_KINDS[kind])) for code, kind in codes.items()
    )
    return Case(STRING, nullable=False, branches=branches, otherwise=unknown), unknown


def _is_not(operation: Expression, kind: str) -> Expression:
    differs = call("ne", operation, _text(kind))
    return call("coalesce", differs, Literal(BOOLEAN, nullable=False, value=True))


def _text(value: str) -> Expression:
    return Literal(STRING, nullable=False, value=value)


def _wrong(what: str, span: Span) -> Refusal:
    return wrong_argument(FROM_CHANGELOG, what, span)
