"""The canonical bytes of nodes, and the stable ids of a plan's operators.

**Canonical form.**  A node is written as the list of all nodes that it is made of, each once, children
first; a node is its class, then its fields by name, with other nodes by their index in the list.  So equal
plans, made anywhere, have equal bytes, and shared parts are written once.  The form is JSON without
spaces; DOUBLE is written as the shortest decimal that reads back the same.

**Operator ids.**  State and statistics are kept under the id of the operator that they belong to.  The
id identifies what the operator computes: it is a digest of the operator and all below it.  What does not
change what it computes is left out, so that renaming a column, or moving a file, keeps the state:

* the names of columns, keys, aggregates and elements;
* a table's options and the position of its declaration: a table is known by its name, its columns, and what
  its times are.

Not promised: that an id stays when a rule changes (the plan that is executed is then another one), nor
that state under an equal id fits an operator of another version of fsql; restoring it has to check.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.slices import slicing_of
from fsql.compiler.expression import AggregateCall, LambdaBody
from fsql.compiler.logical import (
    OverCall,
    Scan,
    Table,
    WindowAggregate,
    least_scan_number,
    operators,
)
from fsql.compiler.node import Node, walk
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import SqlType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.logical import Job, Plan

ID_DIGITS: Final = 12
"""Hexadecimal digits of an operator id: 48 bits distinguish the operators of any one job."""

_NOT_COMPUTED: Final = frozenset(
    {
        *("names", "key_names", "aggregate_names", "element_name", "ordinality_name"),
        "rank_name",
        *("Table.options", "Table.ordinal"),
    }
)
"""The fields of which only the presence is part of operator ids; some only of one class."""

_FORMER_NAMES: Final[Mapping[tuple[type[Node], str], str]] = {(OverCall, "delay"): "behind"}
"""Fields that were renamed, by what they are called in the form: state is kept under ids made with that."""

_LATER_FIELDS: Final = frozenset(
    {
        *("row_time", "idle_us", "hot_keys", "by_position", "once", "condition", "right_first"),
        *("unavailable", "marks", "whole", "compared", "replaced", "counted_below", "shown_us"),
    }
)
"""Fields that operators and tables got later: plans without them keep their ids."""

_HINTS: Final = frozenset({"broadcast"})
"""Fields that change neither results nor state, and are part of no operator id; False is not written."""

_Form = object


def canonical_bytes(node: Node) -> bytes:
    """Return the canonical form of `node`, a plan, a job or an expression, as UTF-8."""
    return _encode(node, lambda _class, _field: True)


def digest(node: Node, value_of: Callable[[Node, str], object] = getattr) -> str:
    """Return the SHA-256 of the canonical form, in hexadecimal.

    `value_of` returns the value of a field of a node, or what takes its place.
    """
    return hashlib.sha256(_encode(node, lambda _class, _field: True, value_of)).hexdigest()


def operator_ids(job: Job) -> Mapping[Plan, str]:
    """Return the id of each operator of `job`: its kind, and a digest of what it computes.

    Operators that compute the same under other names get a number after their ids, in their order.
    """
    plans = dict.fromkeys(plan for insert in job.inserts for plan in operators(insert.query))
    ids: dict[Plan, str] = {}
    met: Counter[str] = Counter()
    for plan in plans:
        identity = operator_id(plan)
        met[identity] += 1
        ids[plan] = identity if met[identity] == 1 else f"{identity}-{met[identity]}"
    return ids


def operator_id(plan: Node) -> str:
    """Return the kind of `plan` and a digest of what it computes: `aggregate-4f0c2d9a1b3e`."""
    form = _encode(plan, _is_computed)
    kind = type(plan).__name__.lower()
    if isinstance(plan, WindowAggregate) and slicing_of(plan) is not None:
        # Its state has slices: state of its windows, which it had before, is that of another operator.
        kind = "slicesaggregate"
    return f"{kind}-{hashlib.sha256(form).hexdigest()[:ID_DIGITS]}"


def work_digest(plan: Plan, data_of: Callable[[Table], str]) -> str:
    """Return a digest of what `plan` computes from which data, for a comparison with other scripts.

    `data_of` returns what the rows of a table are; what the table is called, and which scans the script has
    before, does not matter.
    """
    least = least_scan_number(plan)

    def value_of(node: Node, field: str) -> object:
        if isinstance(node, Scan) and field == "scan_number":
            return node.scan_number - least
        return (
            data_of(node) if isinstance(node, Table) and field == "name" else getattr(node, field)
        )

    return hashlib.sha256(_encode(plan, _is_computed, value_of)).hexdigest()


def _is_computed(class_name: str, field: str) -> bool:
    return field not in (_NOT_COMPUTED | _HINTS) and f"{class_name}.{field}" not in _NOT_COMPUTED


def _encode(
    root: Node,
    wanted: Callable[[str, str], bool],
    value_of: Callable[[Node, str], object] = getattr,
) -> bytes:
    forms = _forms(root, wanted, value_of)
    return json.dumps(forms, ensure_ascii=False, separators=(",", ":")).encode()


def _forms(
    root: Node, wanted: Callable[[str, str], bool], value_of: Callable[[Node, str], object]
) -> list[_Form]:
    indexes: dict[Node, int] = {}
    forms: list[_Form] = []
    for node in walk(root):
        indexes[node] = len(forms)
        name = type(node).__name__
        values = {
            _FORMER_NAMES.get((type(node), field.name), field.name): _form(
                value_of(node, field.name), indexes
            )
            if wanted(name, field.name)
            else getattr(node, field.name) is not None
            for field in dataclasses.fields(node)
            if not (isinstance(node, AggregateCall | OverCall) and _is_omitted(node, field))
            and not (field.name in _LATER_FIELDS and not getattr(node, field.name))
            and not (
                field.name in _HINTS
                and not (wanted(name, field.name) and getattr(node, field.name))
            )
        }
        forms.append([name, values])
    return forms


def _is_omitted(call: AggregateCall | OverCall, field: dataclasses.Field[object]) -> bool:
    """Return whether a field has its default, as in plans of when it did not exist: they keep their ids."""
    return getattr(call, field.name) == field.default


def _form(value: object, indexes: Mapping[Node, int]) -> _Form:
    """Return a value as JSON; what JSON has no form of is an object with one field, its kind."""
    form: _Form
    match value:
        case Node():
            form = {"node": indexes[value]}
        case tuple():
            form = [_form(item, indexes) for item in value]
        case enum.Enum():
            form = {type(value).__name__: value.name}
        case SqlType():
            form = {"type": str(value)}
        case Column():
            form = {"column": [value.name, str(value.type), value.nullable, value.time_attribute]}
        case float():
            form = {"double": repr(value)}
        case LambdaBody(expression=body):
            form = {"lambda": _forms(body, lambda _class, _field: True, getattr)}
        case _:
            assert value is None or isinstance(value, bool | int | str), type(value)
            form = value
    return form
