"""The syntax: the text of a script as records, before names are resolved.

Every record has the span of its text.  Two records are equal if they have the same meaning, wherever they are
in the text: spans are ignored.  Expressions, relations, query bodies and statements are closed unions,
defined at the end of this file, so that a `match` over one can be checked for completeness.

Constructs that can be long are tuples, not nested records: `a + b - c` is one `Chain`, `p AND q AND r` one
`Logical`, and likewise joins and UNIONs.  Other records are nested at most `limits.DEPTH_MAX` deep, so code
that walks them can be recursive.

The parser accepts more than the engine implements; features that are not implemented have records, too, so
that the binder can report them with their spans.
"""

from __future__ import annotations

from fsql.compiler.syntax.calls import (
    TAKE_LAMBDAS,
    Extract,
    Frame,
    FrameBound,
    FrameExclusion,
    FrameSide,
    FrameUnit,
    FunctionCall,
    JsonAccess,
    JsonClause,
    JsonEvent,
    Lambda,
    RoundTime,
    Star,
    Trim,
    TrimSide,
    WindowSpecification,
)
from fsql.compiler.syntax.expressions import (
    ArrayConstructor,
    ArraySubquery,
    ArrowAccess,
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
    EventTime,
    Exists,
    FieldAccess,
    InList,
    InSubquery,
    IntervalLiteral,
    Is,
    IsDistinct,
    IsValue,
    Like,
    LikeAny,
    Logical,
    LongUnit,
    MapConstructor,
    Not,
    NullLiteral,
    NumberLiteral,
    QuantifiedComparison,
    Refused,
    RowConstructor,
    ScalarSubquery,
    Sign,
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
    parts,
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
    Within,
)
from fsql.compiler.syntax.row_patterns import (
    Definition,
    MatchRecognize,
    Measure,
    Pattern,
    PatternChain,
    PatternName,
    PatternQuantified,
    PatternRefused,
    SkipKind,
    SkipTarget,
    Subset,
)
from fsql.compiler.syntax.statements import (
    ComputedColumn,
    ConflictValue,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateType,
    CreateView,
    Describe,
    Drop,
    DropDatabase,
    DropType,
    Explain,
    Hint,
    Insert,
    LikeOption,
    LikeTable,
    MetadataColumn,
    OnConflict,
    Parameter,
    PartitionValue,
    PhysicalColumn,
    PrimaryKey,
    Remarks,
    ResetOption,
    Script,
    SelectStatement,
    SetOption,
    Show,
    ShowCreate,
    StatementSet,
    TableOption,
    Use,
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
Operation = Unary | Chain | Not | Logical | Comparison | IsDistinct | Is | Between | Like | LikeAny
Subquery = InSubquery | QuantifiedComparison | Exists | ArraySubquery | ScalarSubquery
Constructor = ArrayConstructor | RowConstructor | MapConstructor
Call = FunctionCall | JsonAccess | Lambda | Extract | RoundTime | Trim
Access = ColumnReference | Subscript | FieldAccess | ArrowAccess | EventTime
Expression = (
    Literal
    | Access
    | Constructor
    | Operation
    | InList
    | Subquery
    | Case
    | Cast
    | AtTimeZone
    | Call
    | Refused
)
Relation = TableReference | Derived | Unnest | TableFunction | Joined | MatchRecognize
QueryBody = Select | Values | SetOperation | Query
TableColumn = PhysicalColumn | ComputedColumn | MetadataColumn
Inspection = Explain | Show | ShowCreate | Describe
Database = Use | CreateDatabase | DropDatabase
DeclaredType = CreateType | DropType
Declaration = (
    CreateTable
    | CreateView
    | CreateFunction
    | DeclaredType
    | Drop
    | Database
    | SetOption
    | ResetOption
)
Statement = Declaration | Insert | StatementSet | SelectStatement | Inspection

__all__ = [
    "TAKE_LAMBDAS",
    "Access",
    "ArrayConstructor",
    "ArraySubquery",
    "ArrowAccess",
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
    "ConflictValue",
    "Constructor",
    "CreateDatabase",
    "CreateFunction",
    "CreateTable",
    "CreateType",
    "CreateView",
    "Database",
    "Declaration",
    "DeclaredType",
    "Definition",
    "Derived",
    "Describe",
    "Descriptor",
    "Drop",
    "DropDatabase",
    "DropType",
    "Emit",
    "EventTime",
    "Exists",
    "Explain",
    "Expression",
    "Extract",
    "FieldAccess",
    "Frame",
    "FrameBound",
    "FrameExclusion",
    "FrameSide",
    "FrameUnit",
    "FunctionCall",
    "GroupingKind",
    "GroupingSets",
    "Hint",
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
    "JsonAccess",
    "JsonClause",
    "JsonEvent",
    "Lambda",
    "Like",
    "LikeAny",
    "LikeOption",
    "LikeTable",
    "Literal",
    "Logical",
    "LongUnit",
    "MapConstructor",
    "MatchRecognize",
    "Measure",
    "MetadataColumn",
    "NamedArgument",
    "NamedWindow",
    "Not",
    "NullLiteral",
    "NumberLiteral",
    "OnConflict",
    "Operation",
    "OrderItem",
    "Parameter",
    "PartitionValue",
    "Pattern",
    "PatternChain",
    "PatternName",
    "PatternQuantified",
    "PatternRefused",
    "PhysicalColumn",
    "PrimaryKey",
    "QualifiedName",
    "QuantifiedComparison",
    "Query",
    "QueryBody",
    "Refused",
    "Relation",
    "Remarks",
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
    "Sign",
    "SkipKind",
    "SkipTarget",
    "Star",
    "Statement",
    "StatementSet",
    "StringLiteral",
    "Subquery",
    "Subscript",
    "Subset",
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
    "Use",
    "Values",
    "Watermark",
    "WhenClause",
    "WindowSpecification",
    "Within",
    "parts",
]
