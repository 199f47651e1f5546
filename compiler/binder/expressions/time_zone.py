"""The time zone of a script, and its effect on functions of times.

A script has one zone, that of SET 'table.local-time-zone', or UTC.  A function computes on instants if it is
about elapsed time: `at + INTERVAL '1' HOUR` is an hour later, whatever clocks do.  All others, such as HOUR,
DATE_FORMAT and functions that count months, use the local time. A time that they return is local, and is cast
back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.expression import Cast, Expression
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.functions.time_zones import zone_name, zone_names
from fsql.compiler.sqltypes import TIMESTAMP, Kind, SqlType, instants

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.text.source import Span


SETTING: Final = "table.local-time-zone"


def zone_of_script(script: syntax.Script) -> str:
    """Return the zone that the script sets, UTC if it sets none."""
    settings = (each for each in script.statements if isinstance(each, syntax.SetOption))
    written = (each.value.value for each in settings if is_zone_setting(each))
    names = (name for name in map(zone_name, written) if name is not None)
    return next(names, "UTC")


def is_zone_setting(setting: syntax.SetOption) -> bool:
    """Return whether a SET sets the zone of the script."""
    return setting.key.value.strip().lower() == SETTING


def check_zone_setting(setting: syntax.SetOption, local: str) -> None:
    """Check the zone that a SET names; `local` is that of the script.

    Raises:
        Refusal: E224 if there is no such zone, or the script has another one.
    """
    if bound_zone(setting.value.value, setting.value.span, "E224") != local:
        raise refusal(
            "E224",
            f"setting '{SETTING}' is '{local}' in this script already",
            setting.value.span,
            note="a script has one time zone",
            help="use AT TIME ZONE for other zones",
        )


def bound_zone(text: str, span: Span, code: str) -> str:
    """Return the name of the zone that a text names.

    Raises:
        Refusal: with the code, if there is none.
    """
    name = zone_name(text)
    if name is None:
        near = near_name(text, (*zone_names().values(), "UTC"))
        raise refusal(
            code,
            f'time zone "{text}" does not exist',
            span,
            help=f"a zone with a similar name exists: {near}"
            if near
            else "write a name such as 'Europe/Oslo', or an offset such as '+02:00'",
        )
    return name


def bind_at_time_zone(binder: ClauseBinder, written: syntax.AtTimeZone) -> Expression:
    """Bind `at AT TIME ZONE zone`: the local time of an instant, or the instant of a local time.

    Raises:
        Refusal: E206 if it is not a time, E405 for an unknown zone, E301 for one that is not constant.
    """
    operand = binder.bind(written.operand)
    zone = constant_zone(binder.bind(written.zone), written.zone.span, "AT TIME ZONE")
    if operand.type.kind not in {Kind.TIMESTAMP, Kind.DATE}:
        raise refusal(
            "E206",
            f"AT TIME ZONE does not take {operand.type}",
            written.operand.span,
            f"this is {operand.type}",
            help="cast it: CAST(… AS TIMESTAMP)" if operand.type.kind is Kind.STRING else None,
        )
    return in_zone(operand, zone, binder.zone)


def constant_zone(expression: Expression, span: Span, name: str) -> str:
    """Return the zone that a constant expression names.

    Raises:
        Refusal: E301, E405.
    """
    value = constant_value(expression)
    if not isinstance(value, str):
        raise not_implemented(f"a zone of {name} that is not constant", span)
    return bound_zone(value, span, "E405")


def in_zone(operand: Expression, zone: str, local: str) -> Expression:
    """Return the local time of an instant in a zone, or the instant of a time there.

    Instants have the type of those of the script, whose zone is `local`.
    """
    if operand.type.zone:
        return _cast(_cast(operand, instants(zone)), TIMESTAMP)
    return _cast(_cast(operand, instants(zone)), instants(local))


def utc_to_instant(operand: Expression, local: str) -> Expression:
    """Return the instant of a time in UTC; `local` is the zone of the script."""
    return in_zone(operand, "UTC", local)


def _cast(operand: Expression, target: SqlType) -> Expression:
    if operand.type == target:
        return operand
    return Cast(target, operand.nullable, operand)
