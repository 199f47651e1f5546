"""CREATE TABLE, STREAM, SOURCE and SINK, and their elements and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from typing import Literal as OneOf

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

_PhysicalColumn = tuple[syntax.PhysicalColumn, syntax.PrimaryKey | None]
_TableElement = (
    _PhysicalColumn
    | syntax.ComputedColumn
    | syntax.MetadataColumn
    | syntax.Watermark
    | syntax.PrimaryKey
    | syntax.Identifier
)

_OF_TOPICS: Final = frozenset(
    {
        *("value_format", "key_format", "value_delimiter", "key_delimiter", "wrap_single_value"),
        *("partitions", "replicas", "retention_ms", "cleanup_policy"),
    }
)
"""The options that say how a topic is written, which is named as the stream is."""


def table_kind(_span: Span, kind: Token, read: Token | None = None) -> Token:
    """Return the word for the kind of a table; SOURCE before it says that it is only read."""
    return read or kind


def _name_no_place(options: tuple[syntax.TableOption, ...] | None) -> bool:
    """Return whether there is no WITH, or only options of a topic that none of them names."""
    if options is None:
        return True
    keys = {each.key.value.lower() for each in options}
    return bool(keys & _OF_TOPICS) and keys <= {*_OF_TOPICS, "format"}


def create_table(  # noqa: PLR0913, PLR0917 - what the rule has
    span: Span,
    _or_replace: Token | None,
    temporary: Token | None,
    kind: Token,
    if_not_exists: Token | None,
    name: syntax.QualifiedName,
    elements: tuple[_TableElement, ...] | None,
    included: tuple[syntax.MetadataColumn, ...],
    comment: syntax.StringLiteral | None,
    partitioned_by: tuple[syntax.Identifier, ...] | None,
    options: tuple[syntax.TableOption, ...] | None,
    encoding: tuple[syntax.TableOption, ...] | None,
    origin: syntax.Query | syntax.LikeTable | None,
) -> syntax.CreateTable | syntax.CreateView:
    """Return `CREATE TABLE t (…) WITH (…)`, its elements sorted by kind.

    `CREATE TABLE t AS query` does not say where rows are stored; later queries read it, so
    it is a view, also with options of a topic that is not named.  OR REPLACE has no effect: a script begins
    without tables.
    """
    declared = elements is not None or included or partitioned_by is not None
    if isinstance(origin, syntax.Query) and not declared and _name_no_place(options):
        word: OneOf["TABLE", "STREAM"] = "STREAM" if kind.kind == "STREAM" else "TABLE"
        return syntax.CreateView(
            span,
            name,
            (),
            origin,
            comment,
            temporary is not None,
            if_not_exists is not None,
            word,
            options or (),
        )
    columns: list[syntax.TableColumn] = []
    named: list[syntax.Identifier] = []
    watermarks: list[syntax.Watermark] = []
    keys: list[syntax.PrimaryKey] = []
    for element in (*(elements or ()), *included):
        match element:
            case syntax.Watermark():
                watermarks.append(element)
            case syntax.PrimaryKey():
                keys.append(element)
            case syntax.Identifier():
                named.append(element)
            case (column, key):
                columns.append(column)
                keys += [] if key is None else [key]
            case _:
                columns.append(element)
    return syntax.CreateTable(
        span,
        name,
        tuple(columns),
        tuple(watermarks),
        tuple(keys),
        (*(options or ()), *(encoding or ())),
        origin if isinstance(origin, syntax.Query) else None,
        origin if isinstance(origin, syntax.LikeTable) else None,
        comment,
        partitioned_by or (),
        temporary is not None,
        if_not_exists is not None,
        stream=kind.kind == "STREAM",
        named=_columns_of_query(named, columns, origin),
    )


def _columns_of_query(
    named: list[syntax.Identifier], columns: list[syntax.TableColumn], origin: object
) -> tuple[syntax.Identifier, ...]:
    """Return the columns without a type, which only a query can have.

    Raises:
        FsqlError: E101.
    """
    if named and (columns or not isinstance(origin, syntax.Query)):
        label = Label(named[0].span, "expected a type after it")
        raise FsqlError([Diagnostic("E101", f'column "{named[0].name}" has no type', label)])
    return tuple(named)


def table_element_list(_span: Span, *elements: _TableElement) -> tuple[_TableElement, ...]:
    """Return the elements between the brackets of CREATE TABLE."""
    return elements


def physical_column(
    span: Span,
    name: syntax.Identifier,
    type_: syntax.TypeName,
    not_null: bool,  # noqa: FBT001
    key: tuple[Span, bool | None] | None,
    comment: syntax.StringLiteral | None,
) -> _PhysicalColumn:
    """Return `a INT NOT NULL`, and its key if it ends with PRIMARY KEY."""
    in_message = key is not None and key[1] is None
    column = syntax.PhysicalColumn(span, name, type_, not_null, comment, in_message)
    if key is None or key[1] is None:
        return column, None
    return column, syntax.PrimaryKey(key[0], (name,), key[1])


def computed_column(
    span: Span,
    name: syntax.Identifier,
    expression: syntax.Expression,
    comment: syntax.StringLiteral | None,
) -> syntax.ComputedColumn:
    """Return `a AS b + 1`."""
    return syntax.ComputedColumn(span, name, expression, comment)


def metadata_column(
    span: Span,
    name: syntax.Identifier,
    type_: syntax.TypeName,
    not_null: bool,  # noqa: FBT001
    key: syntax.StringLiteral | None,
    virtual: Token | None,
    comment: syntax.StringLiteral | None,
) -> syntax.MetadataColumn:
    """Return `a BIGINT METADATA FROM 'offset' VIRTUAL`."""
    return syntax.MetadataColumn(span, name, type_, not_null, key, virtual is not None, comment)


def included_columns(
    _span: Span, *columns: syntax.MetadataColumn
) -> tuple[syntax.MetadataColumn, ...]:
    """Return the columns of `INCLUDE …` clauses."""
    return columns


def key_constraint(
    span: Span,
    _name: syntax.Identifier | Token | None,
    enforced: bool | None = None,  # noqa: FBT001
) -> tuple[Span, bool | None]:
    """Return `PRIMARY KEY NOT ENFORCED` after a column, with None for KEY.

    Nothing refers to the name of a constraint.
    """
    return span, enforced


def primary_key(
    span: Span,
    _name: syntax.Identifier | None,
    columns: tuple[syntax.Identifier, ...],
    enforced: bool,  # noqa: FBT001
) -> syntax.PrimaryKey:
    """Return `PRIMARY KEY (a, b) NOT ENFORCED`."""
    return syntax.PrimaryKey(span, columns, enforced)


def enforcement(_span: Span, not_: Token | None, _enforced: Token | None) -> bool:
    """Return whether the key is enforced: the standard's default."""
    return not_ is None


def watermark(
    span: Span, column: syntax.Identifier, expression: syntax.Expression | None
) -> syntax.Watermark:
    """Return `WATERMARK FOR a AS a - INTERVAL '1' SECOND`."""
    return syntax.Watermark(span, column, expression)


def table_option_list(
    _span: Span, *options: syntax.TableOption | None
) -> tuple[syntax.TableOption, ...]:
    """Return `'a' = 'b', 'c' = 'd'`."""
    return tuple(option for option in options if option is not None)


def table_option(
    span: Span,
    key: syntax.StringLiteral,
    value: syntax.StringLiteral | syntax.NumberLiteral | syntax.BooleanLiteral,
) -> syntax.TableOption:
    """Return `'a' = 'b'`; a number or a truth value is the same as its text in quotes."""
    if isinstance(value, syntax.NumberLiteral):
        value = syntax.StringLiteral(value.span, value.text)
    elif isinstance(value, syntax.BooleanLiteral):
        value = syntax.StringLiteral(value.span, "true" if value.value else "false")
    return syntax.TableOption(span, key, value)


def plain_option_name(span: Span, name: syntax.QualifiedName) -> syntax.StringLiteral:
    """Return the name `a.b` of an option, as if it were in single quotes."""
    return syntax.StringLiteral(span, ".".join(part.name for part in name.parts))


def like_table(
    span: Span, table: syntax.QualifiedName, *options: syntax.LikeOption | None
) -> syntax.LikeTable:
    """Return `LIKE t (INCLUDING ALL)`."""
    return syntax.LikeTable(span, table, tuple(each for each in options if each is not None))


def like_option(span: Span, handling: Token, part: Token | syntax.Identifier) -> syntax.LikeOption:
    """Return `EXCLUDING OPTIONS`."""
    named = part.name if isinstance(part, syntax.Identifier) else part.text
    return syntax.LikeOption(span, handling.text.upper(), named.upper())
