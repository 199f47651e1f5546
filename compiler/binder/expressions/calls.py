"""Calls of functions: which kind of function a name denotes, and calls of functions that are not scalar."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.percentiles import of_fractions
from fsql.compiler.binder.expressions.call_arguments import argument_error
from fsql.compiler.binder.expressions.forms import FORMS, bind_form
from fsql.compiler.binder.expressions.lambdas import bind_lambda_call
from fsql.compiler.binder.expressions.scalar_calls import (
    bind_argument,
    bind_scalar,
    unknown_function,
)
from fsql.compiler.binder.references import parts_of
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.bound.pending import GroupingValue
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.functions.aggregates import AGGREGATES, NOT_RUNNING
from fsql.compiler.functions.calls import make_call
from fsql.compiler.functions.ranks import OVER_ONLY
from fsql.compiler.functions.refused import NOT_DETERMINISTIC, WINDOW_BOUNDS, WINDOW_FUNCTIONS
from fsql.compiler.functions.signature import Function
from fsql.compiler.functions.table import CALLABLE
from fsql.compiler.sqltypes import BIGINT
from fsql.compiler.syntax.scalar_clauses import refuse_clauses, without_over

if TYPE_CHECKING:
    from fsql.compiler.binder.ddl.declared_functions import DeclaredFunction
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.diagnostics.refusal import Refusal
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


_GROUPING: Final = frozenset({"GROUPING", "GROUPING_ID"})
GROUPING_ARGUMENTS_MAX: Final = 31


def bind_function_call(binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
    """Bind `f(a, …)`: an aggregate, a running aggregate, or a scalar function."""
    name = written.name.parts[-1].name.upper()
    if len(written.name.parts) > 1:
        raise not_implemented("functions of a catalog", written.name.span)
    _refuse_name(name, written)
    of_match = binder.navigations and binder.navigations.bind(written, name)
    if of_match:
        return of_match
    several = None if name in binder.functions else of_fractions(written, name)
    return _bind_named(binder, written, name) if several is None else binder.bind(several)


def _bind_named(  # noqa: PLR0911 - one a kind
    binder: ClauseBinder, written: syntax.FunctionCall, name: str
) -> Expression:
    if written.over is not None:
        return _bind_running(binder, written, name)
    declared = binder.functions.get(name)
    if name in AGGREGATES or name in _GROUPING or (declared and declared.is_aggregate):
        return _bind_aggregate(binder, written, name)
    if name in OVER_ONLY:
        raise refusal(
            "E404",
            f"function {name} requires OVER",
            written.span,
            help=f"write {name}({'…' if written.arguments else ''}) OVER (PARTITION BY … ORDER BY …)",
        )
    refuse_clauses(written, name)
    if name in WINDOW_BOUNDS and binder.window is not None:
        return _bind_window_bound(binder, binder.window, written, name)
    if declared is not None:
        return _bind_declared(binder, declared, written, name)
    if name in syntax.TAKE_LAMBDAS:
        return bind_lambda_call(binder, written, name)
    of_octets = name == "DECODE" and len(written.arguments) == 2
    if name in FORMS and not of_octets:
        return bind_form(binder, written, name)
    return bind_scalar(binder, written, name)


def bind_table_call(binder: ClauseBinder, written: syntax.TableFunction) -> Expression:
    """Return the array of the rows that a table function of the script returns.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: its declaration was refused.
    """
    name = written.name.parts[-1].name.upper()
    declared = binder.functions[name]
    arguments: list[syntax.Expression] = []
    if declared.is_program:
        raise _is_program(name, written.span)
    if declared.function is not None and not declared.is_table:
        raise refusal(
            "E321",
            f"function {name} returns no rows",
            written.span,
            help=f"a table function is declared by CREATE FUNCTION {name}(…) RETURNS TABLE (…)",
        )
    for each in written.arguments:
        if isinstance(each, syntax.NamedArgument | syntax.TableArgument | syntax.Descriptor):
            raise not_implemented("named arguments and tables as arguments of functions", each.span)
        arguments.append(each)
    call_of = syntax.FunctionCall(written.span, written.name, tuple(arguments))
    made = _bind_declared(binder, replace(declared, is_table=False), call_of, name)
    binder.source_spans.add(made, written.span)
    return made


def _is_program(name: str, span: Span) -> Refusal:
    return refusal(
        "E321",
        f"{name} is a program, not a function",
        span,
        help=f"run it in FROM: RUN({name.lower()}, TABLE t, TAG => …)",
    )


def _bind_declared(
    binder: ClauseBinder, declared: DeclaredFunction, written: syntax.FunctionCall, name: str
) -> Expression:
    """Bind a call of a function of CREATE FUNCTION.

    Raises:
        Refusal: E401.
        Abandoned: its declaration was refused.
    """
    if declared.is_table:
        raise refusal(
            "E321",
            f"table function {name} is not allowed in an expression",
            written.span,
            help=f"use it in FROM: CROSS JOIN LATERAL TABLE({name}(…)) AS r",
        )
    function = declared.function
    if function is None:
        raise Abandoned
    if declared.is_program:
        raise _is_program(name, written.span)
    assert isinstance(function, Function)
    arguments = [bind_argument(binder, argument) for argument in written.arguments]
    made = make_call(function.name, *arguments)
    if made is None:
        raise argument_error(function, name, arguments, written.span)
    return made


def _bind_window_bound(
    binder: ClauseBinder, window: syntax.FunctionCall, written: syntax.FunctionCall, name: str
) -> Expression:
    """Bind TUMBLE_START and similar functions, which have the arguments of the window in GROUP BY."""
    function = window.name.parts[-1].name.upper()
    if not name.startswith(f"{function}_") or written.arguments != window.arguments:
        raise refusal(
            "E321",
            f"{name} has other arguments than the window of GROUP BY",
            written.span,
            secondary=(Label(window.span, "the window"),),
            help=f"write {function}{name[name.index('_') :]} with the same arguments,"
            f" or {WINDOW_BOUNDS[name].removeprefix('use ')}",
        )
    column = WINDOW_BOUNDS[name].removeprefix("use the column ")
    parts = (syntax.Identifier(written.span, column),)
    return binder.bind(syntax.ColumnReference(written.span, parts))


def _refuse_name(name: str, written: syntax.FunctionCall) -> None:
    """Refuse functions that are known but cannot be called."""
    if name in NOT_DETERMINISTIC:
        raise refusal(
            "E402",
            f"function {name} is not deterministic",
            written.name.span,
            "its value differs from run to run",
            help=NOT_DETERMINISTIC[name],
        )
    if name in WINDOW_FUNCTIONS:
        raise refusal(
            "E321",
            f"window function {name} is not allowed in an expression",
            written.span,
            help="use it in FROM or GROUP BY, and the columns window_start and window_end here",
        )


def _bind_aggregate(binder: ClauseBinder, written: syntax.FunctionCall, name: str) -> Expression:
    if name in _GROUPING:
        refuse_clauses(written, name)
        return _bind_grouping(binder, written, name)
    if binder.aggregates is None:
        raise refusal(
            "E303",
            f"aggregate in {binder.clause}",
            written.span,
            note=f"{binder.clause} is evaluated for each input row",
            help="filter groups with HAVING" if binder.clause == "WHERE" else None,
        )
    _refuse_parameters(binder, written)
    return binder.aggregates.bind(binder, written)


def _bind_grouping(binder: ClauseBinder, written: syntax.FunctionCall, name: str) -> Expression:
    """Bind `GROUPING(key, …)`, which returns which of the keys are not in the row's grouping set."""
    if binder.aggregates is None or not binder.aggregates.grouping:
        raise refusal(
            "E303",
            f"{name} in {binder.clause}, without GROUP BY"
            if binder.aggregates is not None
            else f"{name} in {binder.clause}",
            written.span,
            note=f"{name} states which keys of GROUP BY a group has",
        )
    if not 1 <= len(written.arguments) <= GROUPING_ARGUMENTS_MAX:
        raise refusal(
            "E401",
            f"{name} takes 1 to {GROUPING_ARGUMENTS_MAX} keys, not {len(written.arguments)}",
            written.span,
        )
    _refuse_parameters(binder, written)
    arguments = tuple(bind_argument(binder, argument) for argument in written.arguments)
    value = GroupingValue(BIGINT, nullable=False, arguments=arguments)
    binder.spans[value] = written.span
    return value


def _bind_running(binder: ClauseBinder, written: syntax.FunctionCall, name: str) -> Expression:
    declared = binder.functions.get(name)
    if declared is not None and declared.function is None:
        raise Abandoned
    if name in OVER_ONLY:
        refuse_clauses(written, name)
    elif name not in AGGREGATES and not (declared and declared.is_aggregate):
        refuse_clauses(written, name)
        if name not in {*CALLABLE, *syntax.TAKE_LAMBDAS} and declared is None:
            raise unknown_function(name, written)
        raise without_over(written, name)
    if binder.running is None:
        raise refusal(
            "E303",
            f"OVER in {binder.clause}",
            written.span,
            help="compute it in the SELECT of a subquery in FROM",
        )
    if name in NOT_RUNNING:
        raise not_implemented(
            f"{name} OVER", written.span, help="use GROUP BY, for example with a window"
        )
    _refuse_parameters(binder, written)
    return binder.running.bind(binder, written)


def _refuse_parameters(binder: ClauseBinder, written: syntax.FunctionCall) -> None:
    """Refuse an aggregate of a parameter: aggregates are computed over rows.

    Raises:
        Refusal: E303.
    """
    if not binder.parameters.values:
        return
    for part in parts_of(written):
        if isinstance(part, syntax.ColumnReference) and binder.parameters.get(part.parts[0]):
            name = part.parts[0].name
            raise refusal(
                "E303",
                f'aggregate of "{name}", a parameter of a lambda',
                part.span,
                note="aggregates are computed over rows",
                help="of the elements of an array: REDUCE(array, 0, (total, x) -> total + x)",
            )
