"""The syntax: what was written, as records, before any name means anything.

Every record has the span of its text.  Two records are equal if they say the same, wherever they
stand: spans do not count.  Expressions, relations, query bodies and statements are closed unions, named
at the end of this file, so that a `match` over one can be proved complete.

Shapes that text can make long are tuples, never deep: `a + b - c` is one `Chain`, `p AND q AND r` one
`Logical`, and likewise joins and UNIONs.  What remains nests at most `limits.DEPTH_MAX` deep, so
whoever walks these records may recurse.

The parser accepts more than the engine carries out; what is not carried out has a record here as well, so
that the binder can say so and point at it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import Literal as OneOf

if TYPE_CHECKING:
    from fsql.compiler.source import SourceText, Span


@dataclass(frozen=True, slots=True)
class Syntax:
    """The base of all records: a place in the text, which does not count for equality."""

    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Identifier(Syntax):
    """One name.  Quoted names match exactly, others without regard to case; `name` is unescaped."""

    name: str
    quoted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class QualifiedName(Syntax):
    """A name with its qualifiers, `catalog.name`: of a table, view or function."""

    parts: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class TypeName(Syntax):
    """A type as written, in upper case: `DECIMAL(23, 3)`, `ARRAY<INT>`, `ROW<a INT, b STRING>`.

    `numbers` are those in round brackets, `arguments` the types in angle brackets; for ROW, `fields`
    names them.  Further words belong to the name: `TIMESTAMP WITH LOCAL TIME ZONE`.
    """

    name: str
    numbers: tuple[int, ...] = ()
    arguments: tuple[TypeName, ...] = ()
    fields: tuple[Identifier, ...] = ()
    not_null: bool = False


# Expressions: values.


@dataclass(frozen=True, slots=True)
class ColumnReference(Syntax):
    """`a`, `t.a`, `t.a.field`: only the binder knows which parts are table, column and fields."""

    parts: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class NumberLiteral(Syntax):
    """A number without sign, as written: its form says whether it is exact."""

    text: str


@dataclass(frozen=True, slots=True)
class StringLiteral(Syntax):
    """A string; `value` is unescaped."""

    value: str


@dataclass(frozen=True, slots=True)
class BooleanLiteral(Syntax):
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class NullLiteral(Syntax):
    """NULL."""


TimeType = OneOf["TIMESTAMP", "DATE", "TIME"]


@dataclass(frozen=True, slots=True)
class TimeLiteral(Syntax):
    """`TIMESTAMP '2024-01-31 23:59:59'`, `DATE '…'`, `TIME '…'`; the text is not looked into."""

    type: TimeType
    value: StringLiteral


Unit = OneOf[
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
]
"""Units of time; in the text also the plural."""


@dataclass(frozen=True, slots=True)
class IntervalLiteral(Syntax):
    """`INTERVAL '4' SECOND`, `INTERVAL '1:30' HOUR TO MINUTE`; the text is not looked into."""

    value: StringLiteral
    unit: Unit
    to: Unit | None = None
    negative: bool = False


@dataclass(frozen=True, slots=True)
class ArrayConstructor(Syntax):
    """`ARRAY[a, b]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class RowConstructor(Syntax):
    """`ROW(a, b)` or `(a, b)`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapConstructor(Syntax):
    """`MAP['k', v, …]`: keys and values in turn, as written."""

    items: tuple[Expression, ...]


# Expressions: operators.


@dataclass(frozen=True, slots=True)
class Unary(Syntax):
    """`-a`, `+a`."""

    operator: OneOf["-", "+"]
    operand: Expression


ChainOperator = OneOf["+", "-", "||", "*", "/", "%"]


@dataclass(frozen=True, slots=True)
class ChainLink(Syntax):
    """An operator and its right operand."""

    operator: ChainOperator
    operand: Expression


@dataclass(frozen=True, slots=True)
class Chain(Syntax):
    """`first + a - b`: operators of one precedence, applied from the left."""

    first: Expression
    links: tuple[ChainLink, ...]


@dataclass(frozen=True, slots=True)
class Not(Syntax):
    """`NOT p`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Logical(Syntax):
    """`p AND q AND …` or `p OR q OR …`, two operands or more."""

    operator: OneOf["AND", "OR"]
    operands: tuple[Expression, ...]


ComparisonOperator = OneOf["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Comparison(Syntax):
    """`a < b`; `!=` is `<>`."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class IsDistinct(Syntax):
    """`a IS [NOT] DISTINCT FROM b`."""

    left: Expression
    right: Expression
    negated: bool


IsValue = OneOf["NULL", "TRUE", "FALSE", "UNKNOWN"]


@dataclass(frozen=True, slots=True)
class Is(Syntax):
    """`a IS [NOT] NULL`, and TRUE, FALSE, UNKNOWN."""

    operand: Expression
    value: IsValue
    negated: bool


@dataclass(frozen=True, slots=True)
class Between(Syntax):
    """`a [NOT] BETWEEN [SYMMETRIC] low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool
    symmetric: bool


@dataclass(frozen=True, slots=True)
class InList(Syntax):
    """`a [NOT] IN (b, c)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class InSubquery(Syntax):
    """`a [NOT] IN (SELECT …)`."""

    operand: Expression
    query: Query
    negated: bool


@dataclass(frozen=True, slots=True)
class Exists(Syntax):
    """`EXISTS (SELECT …)`."""

    query: Query


@dataclass(frozen=True, slots=True)
class ScalarSubquery(Syntax):
    """`(SELECT …)` as a value."""

    query: Query


@dataclass(frozen=True, slots=True)
class Like(Syntax):
    """`a [NOT] LIKE pattern [ESCAPE e]`; with `ignore_case`, ILIKE."""

    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class WhenClause(Syntax):
    """`WHEN condition THEN result`."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Syntax):
    """`CASE [operand] WHEN … THEN … ELSE otherwise END`."""

    operand: Expression | None
    branches: tuple[WhenClause, ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Cast(Syntax):
    """`CAST(a AS type)`; with `safe`, TRY_CAST, which gives NULL where CAST fails."""

    operand: Expression
    type: TypeName
    safe: bool


@dataclass(frozen=True, slots=True)
class Subscript(Syntax):
    """`a[index]`."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class FieldAccess(Syntax):
    """`f(x).field`, `a[1].field`; after bare names the field is a part of the ColumnReference."""

    operand: Expression
    field: Identifier


@dataclass(frozen=True, slots=True)
class AtTimeZone(Syntax):
    """`a AT TIME ZONE zone`."""

    operand: Expression
    zone: Expression


# Expressions: calls.


@dataclass(frozen=True, slots=True)
class Star(Syntax):
    """`*` or `t.*`, in a select list or as the argument of COUNT."""

    qualifier: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionCall(Syntax):
    """`f([DISTINCT] a, … [ORDER BY …]) [FILTER (WHERE p)] [IGNORE NULLS] [OVER …]`.

    Forms with words inside are calls too: `SUBSTRING(s FROM 2 FOR 3)` is SUBSTRING(s, 2, 3),
    `POSITION(a IN b)` is POSITION(a, b), CURRENT_TIMESTAMP a call without arguments.
    """

    name: QualifiedName
    arguments: tuple[Expression | Star, ...]
    distinct: bool = False
    order_by: tuple[OrderItem, ...] = ()
    filter: Expression | None = None
    ignore_nulls: bool = False
    over: WindowSpecification | Identifier | None = None


@dataclass(frozen=True, slots=True)
class Extract(Syntax):
    """`EXTRACT(unit FROM a)`; the unit is a word such as DOW, in upper case."""

    unit: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class RoundTime(Syntax):
    """`FLOOR(a TO unit)`, `CEIL(a TO unit)`."""

    direction: OneOf["FLOOR", "CEIL"]
    operand: Expression
    unit: Unit


TrimSide = OneOf["BOTH", "LEADING", "TRAILING"]


@dataclass(frozen=True, slots=True)
class Trim(Syntax):
    """`TRIM([BOTH | LEADING | TRAILING] [characters] FROM a)`; the plain form is a FunctionCall."""

    side: TrimSide
    characters: Expression | None
    operand: Expression


@dataclass(frozen=True, slots=True)
class WindowSpecification(Syntax):
    """`(PARTITION BY … ORDER BY … frame)`, of OVER or in a WINDOW clause; `base` names another."""

    base: Identifier | None
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame | None


FrameUnit = OneOf["ROWS", "RANGE", "GROUPS"]
FrameSide = OneOf["PRECEDING", "CURRENT ROW", "FOLLOWING"]


@dataclass(frozen=True, slots=True)
class Frame(Syntax):
    """`ROWS BETWEEN start AND end`; without BETWEEN, `end` is None and means the current row."""

    unit: FrameUnit
    start: FrameBound
    end: FrameBound | None


@dataclass(frozen=True, slots=True)
class FrameBound(Syntax):
    """One end of a frame; `offset` is None where it is UNBOUNDED, and at CURRENT ROW."""

    side: FrameSide
    offset: Expression | None


# Relations.


@dataclass(frozen=True, slots=True)
class TableAlias(Syntax):
    """`AS t(a, b)`; without columns the relation's own stay."""

    name: Identifier
    columns: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class TableReference(Syntax):
    """A table, view or CTE; with `system_time`, `FOR SYSTEM_TIME AS OF …`."""

    name: QualifiedName
    system_time: Expression | None = None
    alias: TableAlias | None = None


@dataclass(frozen=True, slots=True)
class Derived(Syntax):
    """`[LATERAL] (query) AS t`."""

    query: Query
    lateral: bool
    alias: TableAlias | None = None


@dataclass(frozen=True, slots=True)
class Unnest(Syntax):
    """`UNNEST(array) [WITH ORDINALITY] AS t(a, b)`."""

    array: Expression
    ordinality: bool
    alias: TableAlias | None = None


@dataclass(frozen=True, slots=True)
class TableArgument(Syntax):
    """`TABLE x [PARTITION BY …]`, or `TABLE (query)`, as an argument of a table function."""

    table: QualifiedName | Query
    partition_by: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Descriptor(Syntax):
    """`DESCRIPTOR(column, …)` as an argument of a table function."""

    columns: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class NamedArgument(Syntax):
    """`SIZE => INTERVAL '1' HOUR` as an argument of a table function."""

    name: Identifier
    value: Expression | TableArgument | Descriptor


@dataclass(frozen=True, slots=True)
class TableFunction(Syntax):
    """`[LATERAL] TABLE(HOP(TABLE x, DESCRIPTOR(c), …))` or `HOP(x, c, …)`.

    In the short form table and column are ColumnReferences: the binder, who knows the function, knows
    what they are.
    """

    name: QualifiedName
    arguments: tuple[Expression | TableArgument | Descriptor | NamedArgument, ...]
    lateral: bool
    alias: TableAlias | None = None


JoinKind = OneOf["INNER", "LEFT", "RIGHT", "FULL", "CROSS"]


@dataclass(frozen=True, slots=True)
class JoinClause(Syntax):
    """`kind JOIN right ON condition`, or USING columns; the span begins at the kind."""

    kind: JoinKind
    right: Relation
    condition: Expression | None
    using: tuple[Identifier, ...]
    natural: bool


@dataclass(frozen=True, slots=True)
class Joined(Syntax):
    """`first JOIN a … JOIN b …`, applied from the left."""

    first: Relation
    joins: tuple[JoinClause, ...]


# Queries.


@dataclass(frozen=True, slots=True)
class SelectItem(Syntax):
    """`expression [AS alias]`."""

    expression: Expression
    alias: Identifier | None


@dataclass(frozen=True, slots=True)
class OrderItem(Syntax):
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`; `nulls_first` is None where it is not said."""

    expression: Expression
    descending: bool
    nulls_first: bool | None


GroupingKind = OneOf["GROUPING SETS", "CUBE", "ROLLUP"]


@dataclass(frozen=True, slots=True)
class GroupingSets(Syntax):
    """`GROUPING SETS (…)`, `CUBE (…)`, `ROLLUP (…)`; `(a, b)` inside is one set, and so is `a`."""

    kind: GroupingKind
    sets: tuple[tuple[Expression, ...] | GroupingSets, ...]


@dataclass(frozen=True, slots=True)
class NamedWindow(Syntax):
    """`name AS (…)` in a WINDOW clause."""

    name: Identifier
    window: WindowSpecification


@dataclass(frozen=True, slots=True)
class Emit(Syntax):
    """`EMIT CHANGES`, `EMIT FINAL`: when the SELECT that it ends releases its rows."""

    mode: OneOf["CHANGES", "FINAL"]


@dataclass(frozen=True, slots=True)
class Select(Syntax):
    """One SELECT.  `relations` are those between commas in FROM, empty without FROM.

    `group_by` is None without GROUP BY, and `()` for `GROUP BY ()`: one group.
    """

    distinct: bool
    items: tuple[SelectItem | Star, ...]
    relations: tuple[Relation, ...] = ()
    where: Expression | None = None
    group_by: tuple[Expression | GroupingSets, ...] | None = None
    having: Expression | None = None
    windows: tuple[NamedWindow, ...] = ()
    qualify: Expression | None = None
    emit: Emit | None = None


@dataclass(frozen=True, slots=True)
class Values(Syntax):
    """`VALUES (a, b), (c, d)`."""

    rows: tuple[RowConstructor, ...]


SetOperator = OneOf["UNION", "INTERSECT", "EXCEPT"]


@dataclass(frozen=True, slots=True)
class SetTerm(Syntax):
    """`UNION ALL right`; the span begins at the operator."""

    operator: SetOperator
    all: bool
    right: QueryBody


@dataclass(frozen=True, slots=True)
class SetOperation(Syntax):
    """`first UNION a EXCEPT b`, applied from the left; INTERSECT, which binds tighter, is inside."""

    first: QueryBody
    terms: tuple[SetTerm, ...]


@dataclass(frozen=True, slots=True)
class CommonTable(Syntax):
    """`name(columns) AS (query)` in WITH."""

    name: Identifier
    columns: tuple[Identifier, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class Query(Syntax):
    """`WITH … body ORDER BY … LIMIT … OFFSET …`."""

    body: QueryBody
    common_tables: tuple[CommonTable, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None


# Statements.


@dataclass(frozen=True, slots=True)
class PhysicalColumn(Syntax):
    """`name TYPE [NOT NULL] [PRIMARY KEY NOT ENFORCED]`."""

    name: Identifier
    type: TypeName
    not_null: bool


@dataclass(frozen=True, slots=True)
class ComputedColumn(Syntax):
    """`name AS expression`."""

    name: Identifier
    expression: Expression


@dataclass(frozen=True, slots=True)
class MetadataColumn(Syntax):
    """`name TYPE METADATA [FROM 'key'] [VIRTUAL]`; without FROM the key is the column's name."""

    name: Identifier
    type: TypeName
    not_null: bool
    key: StringLiteral | None
    virtual: bool


@dataclass(frozen=True, slots=True)
class Watermark(Syntax):
    """`WATERMARK FOR column [AS expression]`; without AS the watermark is the column, no delay."""

    column: Identifier
    expression: Expression | None


@dataclass(frozen=True, slots=True)
class PrimaryKey(Syntax):
    """`PRIMARY KEY (columns) NOT ENFORCED`; `enforced` unless those two words follow."""

    columns: tuple[Identifier, ...]
    enforced: bool


@dataclass(frozen=True, slots=True)
class TableOption(Syntax):
    """`'key' = 'value'` in WITH."""

    key: StringLiteral
    value: StringLiteral


@dataclass(frozen=True, slots=True)
class CreateTable(Syntax):
    """`CREATE TABLE name (elements) WITH (options) [AS query]`; elements by kind, in text order."""

    name: QualifiedName
    columns: tuple[PhysicalColumn | ComputedColumn | MetadataColumn, ...]
    watermarks: tuple[Watermark, ...] = ()
    primary_keys: tuple[PrimaryKey, ...] = ()
    options: tuple[TableOption, ...] = ()
    query: Query | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateView(Syntax):
    """`CREATE VIEW name [(columns)] AS query`."""

    name: QualifiedName
    columns: tuple[Identifier, ...]
    query: Query
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Parameter(Syntax):
    """`name TYPE`: a parameter of a function, or a column of the table that it returns."""

    name: Identifier
    type: TypeName


@dataclass(frozen=True, slots=True)
class CreateFunction(Syntax):
    """`CREATE [AGGREGATE] FUNCTION name(parameters) RETURNS … LANGUAGE PYTHON AS 'module:name'`.

    A function that returns TABLE (…) has the columns in `returns`.
    """

    name: QualifiedName
    parameters: tuple[Parameter, ...]
    returns: TypeName | tuple[Parameter, ...]
    language: Identifier
    body: StringLiteral
    aggregate: bool = False
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Insert(Syntax):
    """`INSERT INTO table [(columns)] query`; without columns, all in the order of declaration."""

    table: QualifiedName
    columns: tuple[Identifier, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class SelectStatement(Syntax):
    """A bare query: its result is printed."""

    query: Query


@dataclass(frozen=True, slots=True)
class Explain(Syntax):
    """`EXPLAIN [stage] statement`; the stage is a word such as LOGICAL."""

    stage: Identifier | None
    statement: Insert | SelectStatement


@dataclass(frozen=True, slots=True)
class Script(Syntax):
    """All statements of a text, in order."""

    statements: tuple[Statement, ...]
    source: SourceText = field(compare=False)


Literal = (
    NumberLiteral | StringLiteral | BooleanLiteral | NullLiteral | TimeLiteral | IntervalLiteral
)
Operation = Unary | Chain | Not | Logical | Comparison | IsDistinct | Is | Between | Like
Subquery = InSubquery | Exists | ScalarSubquery
Constructor = ArrayConstructor | RowConstructor | MapConstructor
Call = FunctionCall | Extract | RoundTime | Trim
Access = ColumnReference | Subscript | FieldAccess
Expression = (
    Literal | Access | Constructor | Operation | InList | Subquery | Case | Cast | AtTimeZone | Call
)
Relation = TableReference | Derived | Unnest | TableFunction | Joined
QueryBody = Select | Values | SetOperation | Query
TableColumn = PhysicalColumn | ComputedColumn | MetadataColumn
Statement = CreateTable | CreateView | CreateFunction | Insert | SelectStatement | Explain
