"""RUN in FROM: the rows that a program causes, over the events of one or several tables.

    RUN(counters, TABLE clicks, TABLE resets, TAG => ROW(kind, page))

The tables become one sequence of events in the total order.  Its columns are those of all tables by name; a
column that a table does not have is NULL in its rows.  From there on, the program is a running aggregate, by
the fields of the tag that are its key, and the rows that an event causes are the elements of its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.relation import Relation, apply_alias, relation_of
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import Scope, fields_of, names_text
from fsql.compiler.binder.tables import bind_table_argument
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.expression import Call, Expression, FieldAccess, Literal
from fsql.compiler.functions.coercion import coerce, coercible, common_type
from fsql.compiler.functions.python_functions import LoadError
from fsql.compiler.functions.python_programs import LoadedProgram, register_program
from fsql.compiler.logical import append_only
from fsql.compiler.planner.programs import run_program, union_of_events, value_of_event
from fsql.compiler.planner.rows import project
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.logical import Plan
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span

RUN: Final = "RUN"
RUN_FORM: Final = "write RUN(program, TABLE t, TAG => k), with one or several tables"
_TAG: Final = "TAG"


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of RUN."""

    program: syntax.ColumnReference
    tables: tuple[syntax.TableArgument, ...]
    tag: syntax.Expression


def bind_run(written: syntax.TableFunction, context: Context, bind_query: QueryBinder) -> Relation:
    """Return the rows that a program causes.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: the declaration of the program was refused.
    """
    given = _arguments(written)
    loaded = _program(given.program, context)
    events = _events(given.tables, context, bind_query)
    tag, key = _tag(given.tag, loaded, events, context)
    taken = tuple((column.name, column.type) for column in events.schema)
    try:
        program = register_program(loaded, taken)
    except LoadError as error:
        raise refusal(error.code, str(error), given.program.span, help=error.help) from None
    value = value_of_event(events, program, tag)
    context.source_spans.add(value, written.span)
    made = run_program(events, program, value, key)
    return apply_alias(relation_of(made, None), written.alias)


def _arguments(written: syntax.TableFunction) -> _Arguments:
    """Return the arguments of a call.

    Raises:
        Refusal: E301, E307.
    """
    tables: list[syntax.TableArgument] = []
    program, tag = None, None
    for index, argument in enumerate(written.arguments):
        if not index and isinstance(argument, syntax.ColumnReference):
            program = argument
        elif index and isinstance(argument, syntax.TableArgument):
            if argument.partition_by:
                raise refusal(
                    "E307",
                    "PARTITION BY of a table of RUN",
                    argument.partition_by[0].span,
                    help="name fields of the tag in the program: @fsql.program(…, key=[…])",
                )
            tables.append(argument)
        elif (
            tag is None
            and isinstance(argument, syntax.NamedArgument)
            and argument.name.name.upper() == _TAG
            and isinstance(argument.value, syntax.Expression)
        ):
            tag = argument.value
        else:
            what = "its arguments are a program, tables and a tag"
            raise refusal(
                "E307", f"invalid arguments of {RUN}: {what}", argument.span, help=RUN_FORM
            )
    for what, missing in {
        "program": program is None,
        "table": not tables,
        "TAG": tag is None,
    }.items():
        if missing:
            raise refusal(
                "E307", f"invalid arguments of {RUN}: it has no {what}", written.span, help=RUN_FORM
            )
    if written.lateral or written.ordinality:
        what = "LATERAL" if written.lateral else "WITH ORDINALITY"
        raise not_implemented(f"{what} of {RUN}", written.span)
    assert program is not None
    assert tag is not None
    return _Arguments(program, tuple(tables), tag)


def _program(written: syntax.ColumnReference, context: Context) -> LoadedProgram:
    """Return the program of that name.

    Raises:
        Refusal: E202.
        Abandoned: its declaration was refused.
    """
    name = written.parts[-1].name
    declared = context.functions.get(name.upper()) if len(written.parts) == 1 else None
    if declared is not None and declared.function is None:
        raise Abandoned
    if declared is None or not isinstance(declared.function, LoadedProgram):
        known = [each.lower() for each, one in context.functions.items() if one.is_program]
        raise refusal(
            "E202",
            f'program "{name}" does not exist',
            written.span,
            note=f"programs: {names_text(known)}" if known else None,
            help=f"declare it: CREATE PROGRAM {name} AS 'module:class' LANGUAGE PYTHON",
        )
    return declared.function


def _events(
    tables: Sequence[syntax.TableArgument], context: Context, bind_query: QueryBinder
) -> Plan:
    """Return the rows of all tables, with the columns of all by name.

    Raises:
        Refusal: E2xx; E301 if rows can be retracted.
    """
    parts: list[tuple[dict[str, Expression], Plan]] = []
    types: dict[str, SqlType] = {}
    spans: dict[str, Span] = {}
    for table in tables:
        relation = bind_table_argument(table, context, bind_query)
        if not append_only(relation.plan):
            raise not_implemented(
                "programs over rows that can be retracted",
                table.span,
                help="group the input by a window that is final",
            )
        columns: dict[str, Expression] = {}
        for field in relation.named:
            if field.name in columns:
                raise refusal(
                    "E204", f'"{field.name}" is the name of two columns of this table', table.span
                )
            columns[field.name] = field.expression
            common = common_type([types.get(field.name, field.column.type), field.column.type])
            if common is None:
                raise refusal(
                    "E206",
                    f'column "{field.name}" is {types[field.name]} and {field.column.type}',
                    table.span,
                    help=f"give it another name in one of them: TABLE (SELECT {field.name} AS …)",
                    note="columns of the tables with one name are one column of the events",
                )
            types[field.name] = common
            spans.setdefault(field.name, table.span)
        parts.append((columns, relation.plan))
    branches = [
        project(
            plan, [_column(columns.get(name), type_) for name, type_ in types.items()], [*types]
        )
        for columns, plan in parts
    ]
    return union_of_events(branches)


def _column(own: Expression | None, type_: SqlType) -> Expression:
    return Literal(type_, nullable=True, value=None) if own is None else coerce(own, type_)


def _tag(
    written: syntax.Expression, loaded: LoadedProgram, events: Plan, context: Context
) -> tuple[Expression, tuple[Expression, ...]]:
    """Return the tag of each event, and the fields of it that are the key.

    Raises:
        Refusal: E2xx, E401.
    """
    scope = Scope((fields_of(events.schema, None),))
    binder = ExpressionBinder(scope, _TAG, context.source_spans, context.functions, context.zone)
    tag = binder.bind_and_check_size(written)
    if not coercible(tag.type, loaded.tag):
        raise refusal(
            "E401",
            f"the tag is {tag.type}, and that of program {loaded.name} {loaded.tag}",
            written.span,
        )
    made = coerce(tag, loaded.tag)
    names = [name for name, _ in loaded.tag.fields]
    key = []
    for field in loaded.program.key:
        index = names.index(field)
        type_ = loaded.tag.field_types[index]
        if isinstance(tag, Call) and tag.function == "row":
            key.append(coerce(tag.arguments[index], type_))
        else:
            key.append(FieldAccess(type_, nullable=True, argument=made, index=index))
    return made, tuple(key)
