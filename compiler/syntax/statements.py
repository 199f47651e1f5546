"""Statements, and the elements of CREATE TABLE and CREATE FUNCTION."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import Syntax

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.syntax import Expression, Statement
    from fsql.compiler.syntax.expressions import StringLiteral
    from fsql.compiler.syntax.names import Identifier, QualifiedName, TypeName
    from fsql.compiler.syntax.queries import Query
    from fsql.compiler.text.source import SourceText, Span


@dataclass(frozen=True, slots=True)
class PhysicalColumn(Syntax):
    """`name TYPE [NOT NULL] [KEY | PRIMARY KEY NOT ENFORCED] [COMMENT 'text']`.

    A column with KEY is in the key of a message.
    """

    name: Identifier
    type: TypeName
    not_null: bool
    comment: StringLiteral | None = None
    message_key: bool = False


@dataclass(frozen=True, slots=True)
class ComputedColumn(Syntax):
    """`name AS expression [COMMENT 'text']`; a `hidden` one is event time that `*` leaves out."""

    name: Identifier
    expression: Expression
    comment: StringLiteral | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class MetadataColumn(Syntax):
    """`name TYPE METADATA [FROM 'key'] [VIRTUAL]`; without FROM the key is the column's name."""

    name: Identifier
    type: TypeName
    not_null: bool
    key: StringLiteral | None
    virtual: bool
    comment: StringLiteral | None = None


@dataclass(frozen=True, slots=True)
class Watermark(Syntax):
    """`WATERMARK FOR column [AS expression]`; without AS the watermark is the column, without a delay."""

    column: Identifier
    expression: Expression | None


@dataclass(frozen=True, slots=True)
class PrimaryKey(Syntax):
    """`PRIMARY KEY (columns) NOT ENFORCED`; `enforced` if these two words are missing."""

    columns: tuple[Identifier, ...]
    enforced: bool


@dataclass(frozen=True, slots=True)
class Remarks:
    """What is said of a statement before it is bound: warnings, and why it is refused."""

    warnings: tuple[Diagnostic, ...] = ()
    refused: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class TableOption(Syntax):
    """`'key' = 'value'` in WITH."""

    key: StringLiteral
    value: StringLiteral

    def renamed(self, key: str, value: str) -> TableOption:
        """Return another option at the place of this one."""
        return replace(
            self,
            span=self.span,
            key=replace(self.key, span=self.key.span, value=key),
            value=replace(self.value, span=self.value.span, value=value),
        )


@dataclass(frozen=True, slots=True)
class Hint(Syntax):
    """`NAME('key' = 'value', t, 'u', 1)` in `/*+ … */`: its options, and its names, strings and numbers."""

    name: Identifier
    options: tuple[TableOption, ...] = ()
    arguments: tuple[QualifiedName, ...] = ()


@dataclass(frozen=True, slots=True)
class LikeOption(Syntax):
    """`INCLUDING | EXCLUDING | OVERWRITING part` of LIKE, in upper case; a part is ALL or OPTIONS."""

    handling: str
    part: str


@dataclass(frozen=True, slots=True)
class LikeTable(Syntax):
    """`LIKE table [(options)]`: the new table has the elements of the other one, and its own elements.

    With `of_hint`, it is a table with the hint OPTIONS.
    """

    table: QualifiedName
    options: tuple[LikeOption, ...] = ()
    of_hint: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable(Syntax):
    """`CREATE TABLE name (elements) [PARTITIONED BY (columns)] WITH (options) [AS query | LIKE table]`.

    The elements are sorted by kind, each kind in text order. `stream` is that of CREATE STREAM, `sink` that
    of CREATE SINK, which has no elements, and the query of its rows.  `named` are the columns of the query in
    `CREATE TABLE t (a, b) WITH (…) AS query`.  With `awaits_query`, its options depend on the columns of the
    query; with `key_of_query`, it has the key of the query, which is refused so if there is none.
    """

    name: QualifiedName
    columns: tuple[PhysicalColumn | ComputedColumn | MetadataColumn, ...]
    watermarks: tuple[Watermark, ...] = ()
    primary_keys: tuple[PrimaryKey, ...] = ()
    options: tuple[TableOption, ...] = ()
    query: Query | None = None
    like: LikeTable | None = None
    comment: StringLiteral | None = None
    partitioned_by: tuple[Identifier, ...] = ()
    temporary: bool = False
    if_not_exists: bool = False
    stream: bool = False
    sink: bool = False
    named: tuple[Identifier, ...] = ()
    awaits_query: bool = field(default=False, compare=False, repr=False)
    key_of_query: Diagnostic | None = field(default=None, compare=False, repr=False)
    remarks: Remarks | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateView(Syntax):
    """`CREATE VIEW name [(columns)] [COMMENT 'text'] AS query`.

    `CREATE TABLE name AS query` is a view, too; `created_as` is the word after CREATE then.  It may have
    `options` that do not say where rows are stored.
    """

    name: QualifiedName
    columns: tuple[Identifier, ...]
    query: Query
    comment: StringLiteral | None = None
    temporary: bool = False
    if_not_exists: bool = False
    created_as: OneOf["TABLE", "STREAM"] | None = None
    options: tuple[TableOption, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter(Syntax):
    """`name TYPE`: a parameter of a function, or a column of the table that it returns."""

    name: Identifier
    type: TypeName


@dataclass(frozen=True, slots=True)
class CreateFunction(Syntax):
    """`CREATE [AGGREGATE] FUNCTION name(parameters) RETURNS … LANGUAGE PYTHON AS 'module:name'`.

    A function that returns TABLE (…) has the columns in `returns`; it is None if the function determines the
    types: `CREATE FUNCTION name AS 'module:name' LANGUAGE PYTHON`.  With `program` it is
    `CREATE PROGRAM name AS 'module:name' LANGUAGE PYTHON`.
    """

    name: QualifiedName
    parameters: tuple[Parameter, ...]
    returns: TypeName | tuple[Parameter, ...] | None
    language: Identifier
    body: StringLiteral
    aggregate: bool = False
    temporary: bool = False
    if_not_exists: bool = False
    program: bool = False


@dataclass(frozen=True, slots=True)
class Drop(Syntax):
    """`DROP TABLE | VIEW | STREAM [IF EXISTS] name`; `view` is None for STREAM, which can be either.

    A SOURCE and a SINK are tables.
    """

    name: QualifiedName
    view: bool | None = False
    temporary: bool = False
    if_exists: bool = False
    delete_topic: Span | None = None


@dataclass(frozen=True, slots=True)
class CreateType(Syntax):
    """`CREATE TYPE name AS type`."""

    name: Identifier
    type: TypeName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropType(Syntax):
    """`DROP TYPE [IF EXISTS] name`."""

    name: Identifier
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class PartitionValue(Syntax):
    """`column [= expression]` in PARTITION."""

    column: Identifier
    value: Expression | None


@dataclass(frozen=True, slots=True)
class ConflictValue(Syntax):
    """`column = expression` of ON CONFLICT DO UPDATE SET."""

    column: Identifier
    value: Expression


@dataclass(frozen=True, slots=True)
class OnConflict(Syntax):
    """`ON CONFLICT [(columns)] DO action`.

    `action` is NOTHING, ERROR, DEDUPLICATE, OVERWRITE, IGNORE, UPDATE FULL, or UPDATE, which has `values`.
    """

    columns: tuple[Identifier, ...]
    action: str
    values: tuple[ConflictValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Insert(Syntax):
    """`INSERT INTO table [PARTITION (…)] [(columns)] query [ON CONFLICT …]`, or INSERT OVERWRITE.

    Without columns, it writes all in the order of declaration.
    """

    table: QualifiedName
    columns: tuple[Identifier, ...]
    query: Query
    partition: tuple[PartitionValue, ...] = ()
    overwrite: bool = False
    on_conflict: OnConflict | None = None
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True, slots=True)
class StatementSet(Syntax):
    """`EXECUTE STATEMENT SET BEGIN insert; … END`, or `BEGIN STATEMENT SET; insert; … END`."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True, slots=True)
class SelectStatement(Syntax):
    """A bare query: its result is printed."""

    query: Query


@dataclass(frozen=True, slots=True)
class Explain(Syntax):
    """`EXPLAIN [stage | PLAN FOR] statement`; the stage is a word such as LOGICAL."""

    stage: Identifier | None
    statement: Insert | SelectStatement


@dataclass(frozen=True, slots=True)
class Show(Syntax):
    """`SHOW TABLES` or similar: a list of what has been declared; `what` is the word after SHOW."""

    what: Identifier


@dataclass(frozen=True, slots=True)
class ShowCreate(Syntax):
    """`SHOW CREATE TABLE | VIEW name`."""

    name: QualifiedName
    view: bool = False


@dataclass(frozen=True, slots=True)
class Describe(Syntax):
    """`DESCRIBE name`: the columns of a table or view; with `is_file`, of the file with that path."""

    name: QualifiedName
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Use(Syntax):
    """`USE [DATABASE] name`, or `USE CATALOG name`."""

    name: QualifiedName
    catalog: bool = False


@dataclass(frozen=True, slots=True)
class CreateDatabase(Syntax):
    """`CREATE DATABASE [IF NOT EXISTS] name`."""

    name: QualifiedName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropDatabase(Syntax):
    """`DROP DATABASE [IF EXISTS] name`."""

    name: QualifiedName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetOption(Syntax):
    """`SET 'key' = 'value'`."""

    key: StringLiteral
    value: StringLiteral
    remarks: Remarks | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResetOption(Syntax):
    """`RESET 'key'`; without a key, all."""

    key: StringLiteral | None


@dataclass(frozen=True, slots=True)
class Script(Syntax):
    """All statements of a text, in order."""

    statements: tuple[Statement, ...]
    source: SourceText = field(compare=False)
