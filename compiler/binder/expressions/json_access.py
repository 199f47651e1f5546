"""JSON_VALUE, JSON_QUERY and JSON_EXISTS with RETURNING, `… ON EMPTY` and `… ON ERROR`.

The call is bound like any other, and becomes one of `functions/json_clauses.py`: with the values of its
clauses, which have the type of the result, as arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.conditionals import bind_cast, cast_bound, with_length
from fsql.compiler.binder.expressions.type_names import bind_type
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Call, Cast, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.json_clauses import FAIL, KEEP
from fsql.compiler.sqltypes import BOOLEAN, STRING, Kind

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


def bind_json_access(binder: ClauseBinder, written: syntax.JsonAccess) -> Expression:
    """Bind a call with clauses.

    Raises:
        Refusal: E2xx to E4xx.
    """
    called = binder.bind(written.call)
    assert isinstance(called, Call)
    result, returned = called.type, written.returned
    if returned is not None:
        result = _returned(called, written, returned, binder.zone)
    given = {clause.event: clause for clause in written.clauses}
    clauses = [given.get("EMPTY"), given.get("ERROR")]
    values = [
        _value(binder, clause, result, returned, exists=called.type == BOOLEAN)
        for clause in clauses
    ]
    actions = [
        FAIL if clause is not None and clause.word == "ERROR" else KEEP for clause in clauses
    ]
    if FAIL in actions:
        texts = [Literal(STRING, nullable=False, value=action) for action in actions]
        made = call(f"{called.function}_or_fail", *called.arguments, *texts, *values)
    else:
        made = call(f"{called.function}_or", *called.arguments, *values)
    return made if returned is None else with_length(made, returned)


def _returned(
    called: Call, written: syntax.JsonAccess, returned: syntax.TypeName, zone: str
) -> SqlType:
    """Return the type of RETURNING: of JSON_QUERY a STRING, or an ARRAY of what a text can be cast to.

    Raises:
        Refusal: E2xx of the type; E208, E301.
    """
    if called.function != "json_value":
        type_ = bind_type(returned, zone)
        if type_.kind is Kind.ARRAY and type_.element is not None:
            if castable(STRING, type_.element) and not type_.element.parts:
                return type_
        elif type_ == STRING:
            return type_
        raise refusal(
            "E208",
            f"JSON_QUERY does not return {type_}",
            returned.span,
            help="write RETURNING STRING or RETURNING ARRAY<type>; or use JSON_VALUE",
        )
    cast = syntax.Cast(written.span, written.call, returned, safe=True)
    type_ = cast_bound(called, cast, zone).type
    if type_.parts:
        raise refusal(
            "E208",
            f"JSON_VALUE does not return {type_}",
            returned.span,
            help="write JSON_QUERY(j, path RETURNING ARRAY<type>)",
        )
    return type_


def _value(
    binder: ClauseBinder,
    clause: syntax.JsonClause | None,
    result: SqlType,
    returned: syntax.TypeName | None,
    *,
    exists: bool,
) -> Expression:
    """Return the value that a clause gives; without one NULL, of JSON_EXISTS FALSE."""
    if clause is not None and clause.value is not None:
        type_ = returned or syntax.TypeName(clause.span, "STRING")
        value = bind_cast(binder, syntax.Cast(clause.span, clause.value, type_, safe=False))
        _check_constant(value, clause.value.span)
        return value
    if clause is None:
        return Literal(result, nullable=not exists, value=False if exists else None)
    if clause.word == "ARRAY" and result != STRING:
        return Literal(result, nullable=False, value=())
    if clause.word == "OBJECT" and result != STRING:
        raise refusal("E206", f"an empty object is no {result}", clause.span)
    constants: dict[str, Value] = {"ARRAY": "[]", "OBJECT": "{}", "TRUE": True, "FALSE": False}
    given = constants.get(clause.word)
    return Literal(result, nullable=given is None, value=given)


def _check_constant(value: Expression, span: Span) -> None:
    """Check that a literal as a default has a value of the type.

    Raises:
        Refusal: E215.
    """
    if isinstance(value, Cast) and isinstance(value.argument, Literal):
        try:
            evaluate(value, ())
        except RowFailure as failure:
            raise refusal("E215", str(failure), span) from None
