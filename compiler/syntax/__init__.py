"""The syntax: the text of a script as records, before names are resolved.

Every record has the span of its text.  Two records are equal if they say the same, wherever they
stand: spans do not count.  Expressions, relations, query bodies and statements are closed unions, named
at the end of this file, so that a `match` over one can be proved complete.

Shapes that text can make long are tuples, never deep: `a + b - c` is one `Chain`, `p AND q AND r` one
`Logical`, and likewise joins and UNIONs.  What remains nests at most `limits.DEPTH_MAX` deep, so
code that walks these records can recurse.

The parser accepts more than the engine carries out; what is not carried out has a record here as well, so
that the binder can say so and point at it.
"""

from __future__ import annotations

from fsql.compiler.syntax.calls import (
    Extract,
    Frame,
    FrameBound,
    FrameSide,
    FrameUnit,
    FunctionCall,
    RoundTime,
    Star,
    Trim,
    TrimSide,
    WindowSpecification,
)
from fsql.compiler.syntax.expressions import (
    ArrayConstructor,
    AtTimeZone,
    Between,
    BooleanLiteral,
    BytesLiteral,
    Case,
    Cast,
    Chain,
    ChainLink,
    ChainOperator,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Exists,
    FieldAccess,
    InList,
    InSubquery,
    IntervalLiteral,
    Is,
    IsDistinct,
    IsValue,
    Like,
    Logical,
    MapConstructor,
    Not,
    NullLiteral,
    NumberLiteral,
    RowConstructor,
    ScalarSubquery,
    StringLiteral,
    Subscript,
    TimeLiteral,
    TimeType,
    Unary,
    Unit,
    WhenClause,
)
from fsql.compiler.syntax.names import (
    Identifier,
    QualifiedName,
    Syntax,
    TypeName,
)
from fsql.compiler.syntax.queries import (
    CommonTable,
    Emit,
    GroupingKind,
    GroupingSets,
    NamedWindow,
    OrderItem,
    Query,
    Select,
    SelectItem,
    SetOperation,
    SetOperator,
    SetTerm,
    Values,
)
from fsql.compiler.syntax.relations import (
    Derived,
    Descriptor,
    JoinClause,
    Joined,
    JoinKind,
    NamedArgument,
    TableAlias,
    TableArgument,
    TableFunction,
    TableReference,
    Unnest,
)
from fsql.compiler.syntax.statements import (
    ComputedColumn,
    CreateFunction,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    LikeOption,
    LikeTable,
    MetadataColumn,
    Parameter,
    PartitionValue,
    PhysicalColumn,
    PrimaryKey,
    ResetOption,
    Script,
    SelectStatement,
    SetOption,
    Show,
    ShowCreate,
    StatementSet,
    TableOption,
    Watermark,
)

Literal = (
    NumberLiteral
    | StringLiteral
    | BytesLiteral
    | BooleanLiteral
    | NullLiteral
    | TimeLiteral
    | IntervalLiteral
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
Inspection = Explain | Show | ShowCreate | Describe
Declaration = CreateTable | CreateView | CreateFunction | Drop | SetOption | ResetOption
Statement = Declaration | Insert | StatementSet | SelectStatement | Inspection

__all__ = [
    "Access",
    "ArrayConstructor",
    "AtTimeZone",
    "Between",
    "BooleanLiteral",
    "BytesLiteral",
    "Call",
    "Case",
    "Cast",
    "Chain",
    "ChainLink",
    "ChainOperator",
    "ColumnReference",
    "CommonTable",
    "Comparison",
    "ComparisonOperator",
    "ComputedColumn",
    "Constructor",
    "CreateFunction",
    "CreateTable",
    "CreateView",
    "Declaration",
    "Derived",
    "Describe",
    "Descriptor",
    "Drop",
    "Emit",
    "Exists",
    "Explain",
    "Expression",
    "Extract",
    "FieldAccess",
    "Frame",
    "FrameBound",
    "FrameSide",
    "FrameUnit",
    "FunctionCall",
    "GroupingKind",
    "GroupingSets",
    "Identifier",
    "InList",
    "InSubquery",
    "Insert",
    "Inspection",
    "IntervalLiteral",
    "Is",
    "IsDistinct",
    "IsValue",
    "JoinClause",
    "JoinKind",
    "Joined",
    "Like",
    "LikeOption",
    "LikeTable",
    "Literal",
    "Logical",
    "MapConstructor",
    "MetadataColumn",
    "NamedArgument",
    "NamedWindow",
    "Not",
    "NullLiteral",
    "NumberLiteral",
    "Operation",
    "OrderItem",
    "Parameter",
    "PartitionValue",
    "PhysicalColumn",
    "PrimaryKey",
    "QualifiedName",
    "Query",
    "QueryBody",
    "Relation",
    "ResetOption",
    "RoundTime",
    "RowConstructor",
    "ScalarSubquery",
    "Script",
    "Select",
    "SelectItem",
    "SelectStatement",
    "SetOperation",
    "SetOperator",
    "SetOption",
    "SetTerm",
    "Show",
    "ShowCreate",
    "Star",
    "Statement",
    "StatementSet",
    "StringLiteral",
    "Subquery",
    "Subscript",
    "Syntax",
    "TableAlias",
    "TableArgument",
    "TableColumn",
    "TableFunction",
    "TableOption",
    "TableReference",
    "TimeLiteral",
    "TimeType",
    "Trim",
    "TrimSide",
    "TypeName",
    "Unary",
    "Unit",
    "Unnest",
    "Values",
    "Watermark",
    "WhenClause",
    "WindowSpecification",
]
