"""CREATE TABLE … LIKE and CREATE TABLE … AS: the elements that a table takes from another table or a query.

Both are rewritten to a CREATE TABLE with all elements, which is then bound like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Key, derived_keys
from fsql.compiler.binder.catalog import TableEntry
from fsql.compiler.binder.relation import check_column_names
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.binder.tables import find_entry
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.logical import WindowAggregate, operators
from fsql.compiler.planner.rows import column_refs, project
from fsql.compiler.sqltypes import Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.compiler.binder.context import Context
    from fsql.compiler.logical import Plan
    from fsql.compiler.schema import Schema
    from fsql.compiler.text.source import Span


_PARTS: Final = ("CONSTRAINTS", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
_ABSENT: Final = ("DISTRIBUTION",)
"""Parts of tables of other systems, which tables here do not have."""
_OVERWRITABLE: Final = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")
_INCLUDING, _EXCLUDING, _OVERWRITING = "INCLUDING", "EXCLUDING", "OVERWRITING"

_Column = syntax.PhysicalColumn | syntax.ComputedColumn | syntax.MetadataColumn


def like_table(table: syntax.CreateTable, context: Context) -> syntax.CreateTable:
    """Return `CREATE TABLE … LIKE` with the elements of the other table before its own.

    Raises:
        Refusal: E201, E205, E217, E325.
        Abandoned: if the other table was refused.
    """
    like = table.like
    assert like is not None
    handling = _handling(like)
    entry = find_entry(like.table, context)
    if not isinstance(entry, TableEntry):
        if entry.plan is None:
            raise Abandoned
        if like.of_hint:
            raise refusal(
                "E217",
                f'"{entry.name}" is a view, and has no options',
                like.table.span,
                secondary=(Label(entry.span, "declared as a view here"),),
                help="write the hint after the name of a table in the query of the view",
            )
        raise refusal(
            "E217",
            f'"{entry.name}" is a view, and has no options to take over',
            like.table.span,
            secondary=(Label(entry.span, "declared as a view here"),),
            help="declare the table with its columns, or write CREATE TABLE … AS SELECT",
        )
    base = entry.declaration
    assert base is not None
    watermarks = table.watermarks
    if handling["WATERMARKS"] != _EXCLUDING and not (
        table.watermarks and handling["WATERMARKS"] == _OVERWRITING
    ):
        watermarks = base.watermarks + table.watermarks
    keys = table.primary_keys
    if handling["CONSTRAINTS"] == _INCLUDING:
        keys = base.primary_keys + keys
    partitioned_by = table.partitioned_by
    if handling["PARTITIONS"] == _INCLUDING:
        partitioned_by = base.partitioned_by + partitioned_by
    return replace(
        table,
        partitioned_by=partitioned_by,
        columns=_columns(base, table, handling),
        watermarks=watermarks,
        primary_keys=keys,
        options=_options(base, table, handling["OPTIONS"]),
        comment=table.comment or base.comment,
        like=None,
    )


def _handling(like: syntax.LikeTable) -> dict[str, str]:
    """Return the handling of each part: as written for it, else as for ALL, else INCLUDING.

    Options of the new table replace those of the other one, unless something else is written.

    Raises:
        Refusal: E325.
    """
    written: dict[str, syntax.LikeOption] = {}
    for option in like.options:
        if option.part not in {"ALL", *_PARTS, *_ABSENT}:
            parts = names_text([*_PARTS, "ALL"], limit=8)
            raise refusal(
                "E325", f"LIKE has no part {option.part}", option.span, note=f"parts: {parts}"
            )
        if option.handling == _OVERWRITING and option.part not in _OVERWRITABLE:
            raise refusal(
                "E325",
                f"{option.part} cannot be overwritten",
                option.span,
                help=f"write INCLUDING {option.part} or EXCLUDING {option.part}",
            )
        first = written.setdefault(option.part, option)
        if first is not option:
            raise refusal(
                "E325",
                f"{option.part} of LIKE is written more than once",
                option.span,
                secondary=(Label(first.span, "first here"),),
            )
    default = written["ALL"].handling if "ALL" in written else None
    handling = dict.fromkeys(_PARTS, default or _INCLUDING)
    if default is None:
        handling["OPTIONS"] = _OVERWRITING
    return handling | {
        part: option.handling for part, option in written.items() if part in handling
    }


def _columns(
    base: syntax.CreateTable, table: syntax.CreateTable, handling: Mapping[str, str]
) -> tuple[_Column, ...]:
    """Return the columns of both tables, those of the other one first."""
    own = {column.name.name.lower() for column in table.columns}
    parts: dict[type[_Column], str] = {
        syntax.ComputedColumn: handling["GENERATED"],
        syntax.MetadataColumn: handling["METADATA"],
    }
    taken: list[_Column] = []
    for column in base.columns:
        how = parts.get(type(column), _INCLUDING)
        replaced = how == _OVERWRITING and column.name.name.lower() in own
        if how != _EXCLUDING and not replaced:
            taken.append(column)
    return (*taken, *table.columns)


def _options(
    base: syntax.CreateTable, table: syntax.CreateTable, handling: str
) -> tuple[syntax.TableOption, ...]:
    if handling == _EXCLUDING:
        return table.options
    own = {option.key.value.lower() for option in table.options}
    replaced = own if handling == _OVERWRITING else set()
    taken = (each for each in base.options if each.key.value.lower() not in replaced)
    return (*taken, *table.options)


def named_columns(
    table: syntax.CreateTable, query: Plan
) -> tuple[Plan, tuple[syntax.Identifier, ...]]:
    """Return the query of `CREATE TABLE t (a, b) AS` with the columns of the list, and the list of INSERT.

    The columns of the query in another order are those of the table in that order.  Other names are those of
    the columns in their order.

    Raises:
        Refusal: E205, E209.
    """
    if not table.named:
        return query, ()
    names = [column.name for column in query.schema]
    check_column_names(table.named, len(names), f'the query of "{table.name.parts[-1].name}"')
    places = [
        next((i for i, name in enumerate(names) if matches(each, name)), -1) for each in table.named
    ]
    if sorted(places) != list(range(len(names))):
        return project(query, column_refs(query), [each.name for each in table.named]), ()
    span = table.named[0].span.to(table.named[-1].span)
    columns = column_refs(query)
    ordered = project(query, [columns[i] for i in places], [names[i] for i in places])
    return ordered, tuple(syntax.Identifier(span, name, quoted=True) for name in names)


def with_columns_of(
    table: syntax.CreateTable, schema: Schema, spans: Iterable[Span]
) -> syntax.CreateTable:
    """Return `CREATE TABLE … AS` with a column for each of the query's; `spans` are theirs.

    A column that the table declares as well has the type that the table declares.

    Raises:
        Refusal: E203, E205, E301.
    """
    physical: list[syntax.PhysicalColumn] = []
    for element in (*table.columns, *table.watermarks):
        if not isinstance(element, syntax.PhysicalColumn):
            raise not_implemented(
                "computed columns, metadata columns and watermarks in CREATE TABLE … AS",
                element.span,
                help="remove them, and compute columns in the query",
            )
        _check_declared(element, physical, schema)
        physical.append(element)
    columns = tuple(
        next(
            (each for each in physical if matches(each.name, column.name)),
            syntax.PhysicalColumn(
                span,
                syntax.Identifier(span, column.name, quoted=True),
                _type_name(column.type, span),
                not_null=not column.nullable,
            ),
        )
        for column, span in zip(schema, spans, strict=True)
    )
    return replace(table, columns=columns, query=None, named=())


def _check_declared(
    column: syntax.PhysicalColumn, others: Iterable[syntax.PhysicalColumn], schema: Schema
) -> None:
    """Check that a column of CREATE TABLE … AS is one of the query's, and declared once.

    Raises:
        Refusal: E203, E205.
    """
    name = column.name.name
    if not any(matches(column.name, each.name) for each in schema):
        raise refusal(
            "E203",
            f'column "{name}" does not exist',
            column.name.span,
            "not a column of the query",
            note=f"the query has {names_text([each.name for each in schema])}",
            help=f"rename a column of the query with AS {name}",
        )
    first = next((each for each in others if each.name.name.lower() == name.lower()), None)
    if first is not None:
        raise refusal(
            "E205",
            f'column "{name}" is declared more than once',
            column.name.span,
            secondary=(Label(first.name.span, "first here"),),
        )


def _arguments(type_: SqlType) -> tuple[SqlType, ...]:
    """Return the types in the angle brackets of a type."""
    return (type_.key, type_.value) if type_.kind is Kind.MAP else type_.parts


def _type_name(type_: SqlType, span: Span) -> syntax.TypeName:
    """Return a type as a script would write it."""
    if type_.kind is Kind.NULL:
        return syntax.TypeName(span, Kind.STRING.value)
    numbers: tuple[int, ...] = ()
    if type_.kind is Kind.DECIMAL:
        numbers = type_.precision, type_.scale
    elif type_.fraction is not None:
        numbers = (type_.fraction,)
    return syntax.TypeName(
        span,
        "TIMESTAMP_LTZ" if type_.zone else type_.kind.value,
        numbers,
        tuple(_type_name(part, span) for part in _arguments(type_)),
        tuple(syntax.Identifier(span, name, quoted=True) for name, _ in type_.fields),
    )


def with_key_of_query(table: syntax.CreateTable, query: Plan) -> syntax.CreateTable:
    """Return a table that has the key of its query with that key, such as that of GROUP BY.

    Raises:
        Refusal: what `key_of_query` says, if the key needs the bounds of a window.
    """
    if table.key_of_query is None:
        return table
    key: Key = next(iter(derived_keys(query)), ())
    names = tuple(column.name for index, column in enumerate(table.columns) if index in key)
    if 0 < len(names) < len(table.columns):
        made = syntax.PrimaryKey(table.name.span, names, enforced=True)
        return replace(table, primary_keys=(made,))
    if not names and any(isinstance(node, WindowAggregate) for node in operators(query)):
        raise Refusal(table.key_of_query)
    return table
