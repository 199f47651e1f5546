"""Expressions and aggregates in DuckDB's SQL; `duckdb_sql` says what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import (
    AggregateFunction,
    Call,
    Case,
    Cast,
    ColumnRef,
    FieldAccess,
    InSet,
    LambdaCall,
    LambdaFunction,
    Literal,
    TryCast,
)
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.sqltypes import Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import AggregateCall, Expression, Value


class ExcludedError(Exception):
    """The query uses something that DuckDB means otherwise."""


TYPES: Final = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INT: "INTEGER",
    Kind.BIGINT: "BIGINT",
    Kind.UTINYINT: "UTINYINT",
    Kind.USMALLINT: "USMALLINT",
    Kind.UINT: "UINTEGER",
    Kind.UBIGINT: "UBIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.STRING: "VARCHAR",
    Kind.DATE: "INTEGER",
    Kind.TIMESTAMP: "BIGINT",
    Kind.INTERVAL: "BIGINT",
    Kind.NULL: "BIGINT",
}


def sql_type(type_: SqlType) -> str:
    """Return DuckDB's type.

    Raises:
        ExcludedError: a row, a decimal, which it computes with other scales, or another type of its own.
    """
    if type_.contains(Kind.ROW, Kind.DECIMAL, Kind.MAP) or not (type_.parts or type_.kind in TYPES):
        raise ExcludedError(f"the type {type_}")
    return f"{sql_type(type_.element)}[]" if type_.element is not None else TYPES[type_.kind]


def literal(value: Value, type_: SqlType) -> str:
    """Return a value in SQL.

    Raises:
        ExcludedError: a number so large that sums with it are exact to no digits.
    """
    if isinstance(value, float) and abs(value) > 1e9:
        raise ExcludedError("a DOUBLE so large that inexact sums lose their digits")
    if type_.contains(Kind.ROW):
        raise ExcludedError("rows")
    if isinstance(value, tuple):
        assert type_.element is not None
        text = f"[{', '.join(literal(item, type_.element) for item in value)}]"
    elif value is None:
        text = "NULL"
    elif isinstance(value, str | float):
        text = "'" + str(value).replace("'", "''") + "'"
    else:
        text = str(value)
    return f"CAST({text} AS {sql_type(type_)})"


DAY: Final = "86400000000"
INFIX: Final = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "modulo": "%",
    "concat": "||",
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "AND",
    "or": "OR",
}
PREFIX: Final = {
    "abs": "abs",
    "trim": "trim",
    "ltrim": "ltrim",
    "rtrim": "rtrim",
    "char_length": "length",
    "lower": "lower",
    "upper": "upper",
    "starts_with": "starts_with",
    "coalesce": "coalesce",
    "split": "string_split",
    "cardinality": "len",
    "floor": "floor",
    "ceil": "ceil",
    "round": "round",
    "array": "list_value",
}
SPECIAL: Final[dict[str, Callable[..., str]]] = {
    "negate": lambda a: f"(-{a})",
    "not": lambda a: f"(NOT {a})",
    "is_null": lambda a: f"({a} IS NULL)",
    "is_not_null": lambda a: f"({a} IS NOT NULL)",
    "like": lambda a, b: f"({a} LIKE {b} ESCAPE '\\')",
    "replace": lambda a, b, c: f"(CASE WHEN {b} = '' THEN {a} ELSE replace({a}, {b}, {c}) END)",
    "element_at": lambda a, b: f"(CASE WHEN {b} >= 1 THEN list_extract({a}, {b}) END)",
    "sqrt": lambda a: f"(CASE WHEN {a} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({a}) END)",
    "timestamp_millis": lambda a: f"({a} * 1000)",
    "epoch_millis": lambda a: floor_divide(a, "1000"),
}


def floor_divide(dividend: str, divisor: str) -> str:
    """Return the quotient rounded down."""
    return f"(({dividend} - (({dividend} % {divisor}) + {divisor}) % {divisor}) // {divisor})"


def expression_sql(  # noqa: PLR0911 - one a form
    expression: Expression, columns: Sequence[str]
) -> str:
    """Return an expression over columns in SQL; what would fail a row gives NULL instead.

    Raises:
        ExcludedError: DuckDB means it otherwise.
    """
    match expression:
        case ColumnRef():
            return columns[expression.index]
        case Literal():
            return literal(expression.value, expression.type)
        case Cast() | TryCast():
            argument = expression_sql(expression.argument, columns)
            return cast_sql(argument, expression.argument.type, expression.type)
        case Case():
            branches = " ".join(
                f"WHEN {expression_sql(condition, columns)} THEN {expression_sql(result, columns)}"
                for condition, result in expression.branches
            )
            otherwise = expression_sql(expression.otherwise, columns)
            return f"(CASE {branches} ELSE {otherwise} END)"
        case Call():
            return call_sql(expression, [expression_sql(a, columns) for a in expression.arguments])
        case FieldAccess():
            raise ExcludedError("rows")
        case InSet(argument=argument, values=values, negated=negated):
            listed = ", ".join(literal(value, argument.type) for value in values)
            operator = "NOT IN" if negated else "IN"
            return f"({expression_sql(argument, columns)} {operator} ({listed}))"
        case LambdaCall():
            return lambda_sql(expression, columns)
        case _:
            raise AssertionError(expression)


def lambda_sql(call: LambdaCall, columns: Sequence[str]) -> str:
    """Return a lambda over the elements of an array in SQL."""
    body = call.body.expression
    if fallible(body) or call.function is LambdaFunction.REDUCE:
        raise ExcludedError(
            "a lambda that may fail, or REDUCE, which has no value of an empty list"
        )
    array = expression_sql(call.arguments[0], columns)
    captured = [expression_sql(each, columns) for each in call.captured]
    element = f"e_{''.join(captured).count('e_')}"
    inside = expression_sql(body, [element, *captured])
    if call.function is LambdaFunction.FILTER:
        return f"list_filter({array}, lambda {element}: {inside})"
    values = f"list_transform({array}, lambda {element}: {inside})"
    if call.function is LambdaFunction.TRANSFORM:
        return values
    unknown = f"len(list_filter({values}, lambda e: e IS NULL)) > 0"
    return (
        f"(CASE WHEN {array} IS NULL THEN NULL WHEN list_contains({values}, TRUE) THEN TRUE"
        f" WHEN {unknown} THEN NULL ELSE FALSE END)"
    )


def call_sql(call: Call, arguments: Sequence[str]) -> str:  # noqa: C901 - one a function
    """Return a call in SQL."""
    name, result = call.function, ""
    if name in {"greatest", "least"}:
        nulls = " OR ".join(f"{argument} IS NULL" for argument in arguments)
        result = f"(CASE WHEN {nulls} THEN NULL ELSE {name}({', '.join(arguments)}) END)"
    elif name == "divide":
        whole = call.type.kind is not Kind.DOUBLE
        left, right = arguments
        result = f"({left} // nullif({right}, 0))" if whole else f"({left} / {right})"
    elif name == "substring":
        for place in call.arguments[1:]:
            position = place.value if isinstance(place, Literal) else None
            if not isinstance(position, int) or not 1 <= position < 2**31:
                raise ExcludedError("SUBSTRING from a computed position")
        result = f"substring({', '.join(arguments)})"
    elif name == "modulo":
        result = f"({arguments[0]} % nullif({arguments[1]}, 0))"
    elif call.type.kind is Kind.DATE and name in {"add", "subtract"}:
        moment = f"(CAST({arguments[0]} AS BIGINT) * {DAY} {INFIX[name]} {arguments[1]})"
        result = f"CAST({floor_divide(moment, DAY)} AS INTEGER)"
    elif name in INFIX:
        result = "(" + f" {INFIX[name]} ".join(arguments) + ")"
    elif name in PREFIX:
        result = f"{PREFIX[name]}({', '.join(arguments)})"
    elif name in SPECIAL:
        result = SPECIAL[name](*arguments)
    else:
        raise ExcludedError(name)
    fallible = name in {
        "add",
        "subtract",
        "multiply",
        "negate",
        "abs",
        "timestamp_millis",
        "divide",
    }
    return f"TRY({result})" if fallible else result


def cast_sql(argument: str, given: SqlType, wanted: SqlType) -> str:
    """Return a cast in SQL."""
    if wanted.kind is Kind.STRING and given.kind in {Kind.DOUBLE, Kind.TIMESTAMP}:
        raise ExcludedError(f"CAST of {given} to STRING")
    if Kind.STRING in {given.kind, wanted.kind} and Kind.DATE in {given.kind, wanted.kind}:
        raise ExcludedError("CAST of DATE to STRING or back")
    if wanted.kind is Kind.TIMESTAMP and given.kind is Kind.STRING:
        raise ExcludedError("CAST of STRING to TIMESTAMP")
    if given.kind is Kind.DATE and wanted.kind is Kind.TIMESTAMP:
        argument = f"(CAST({argument} AS BIGINT) * {DAY})"
    if given.kind is Kind.TIMESTAMP and wanted.kind is Kind.DATE:
        argument = floor_divide(argument, DAY)
    if given.kind is Kind.DOUBLE and wanted.kind is not Kind.DOUBLE:
        argument = f"trunc({argument})"
    return f"TRY_CAST({argument} AS {sql_type(wanted)})"


_SAME: Final = frozenset(
    {
        *(AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.AVG),
        *(AggregateFunction.MIN, AggregateFunction.MAX, AggregateFunction.ARRAY_AGG),
    }
)


def aggregate_sql(call: AggregateCall, columns: Sequence[str], order: str, over: str = "") -> str:
    """Return an aggregate in SQL; `order` is what ARRAY_AGG goes by, `over` a window."""
    name = call.function
    if name not in _SAME or call.directions or call.ignore_nulls:
        raise ExcludedError(f"{name.value}, whose rounding or order is another")
    if call.argument is None:
        return f"COUNT(*){over}"
    argument = expression_sql(call.argument, columns)
    if name is AggregateFunction.ARRAY_AGG:
        return f"list({argument}{'' if over else f' ORDER BY {order}, {argument}'}){over}"
    distinct = "DISTINCT " if call.distinct else ""
    return f"CAST({name.value}({distinct}{argument}){over} AS {sql_type(call.type)})"
