"""Functions of ksqlDB for times and their texts, in terms of those of this language.

TIMESTAMPTOSTRING(n, p)       →   DATE_FORMAT(TIMESTAMP_MILLIS(n), p)
STRINGTODATE(s, p)            →   UNIX_DATE(TO_DATE(s, p))
FORMAT_TIMESTAMP(t, p, zone)  →   DATE_FORMAT(t AT TIME ZONE 'UTC' AT TIME ZONE zone, p)
PARSE_TIMESTAMP(s, p, zone)   →   TO_TIMESTAMP(s, p) AT TIME ZONE zone AT TIME ZONE 'UTC'
TIMESTAMPSUB(DAYS, n, t)      →   TIMESTAMPADD(DAYS, -n, t)
TIMESUB(MINUTES, n, t)        →   t - INTERVAL '1' MINUTE * n
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics.refusal import refusal
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    number: str | None
    """The function between a number and a time; None if the function takes or returns the time itself."""
    of_text: bool
    zoned: bool


_FUNCTIONS: Final = {
    "TIMESTAMPTOSTRING": _Function("DATE_FORMAT", "TIMESTAMP_MILLIS", of_text=False, zoned=True),
    "DATETOSTRING": _Function("DATE_FORMAT", "DATE_FROM_UNIX_DATE", of_text=False, zoned=False),
    "STRINGTOTIMESTAMP": _Function("TO_TIMESTAMP", "EPOCH_MILLIS", of_text=True, zoned=True),
    "STRINGTODATE": _Function("TO_DATE", "UNIX_DATE", of_text=True, zoned=False),
    "FORMAT_TIMESTAMP": _Function("DATE_FORMAT", None, of_text=False, zoned=True),
    "PARSE_TIMESTAMP": _Function("TO_TIMESTAMP", None, of_text=True, zoned=True),
}
_SUBTRACT: Final = frozenset({"TIMESTAMPSUB", "DATESUB"})
_OF_TIME: Final[Mapping[str, syntax.ChainOperator]] = {"TIMEADD": "+", "TIMESUB": "-"}
_UNITS: Final[Mapping[str, tuple[str, syntax.Unit]]] = {
    "HOUR": ("1", "HOUR"),
    "MINUTE": ("1", "MINUTE"),
    "SECOND": ("1", "SECOND"),
    "MILLISECOND": ("0.001", "SECOND"),
}
_ZONE_LETTERS: Final = frozenset("XxZzVO")
"""Letters of patterns of Java that stand for a time zone."""


def standard_call(written: syntax.FunctionCall) -> syntax.Expression | None:
    """Return a call of a function of ksqlDB in terms of those of this language; None for other calls.

    Raises:
        Refusal: E401, E405.
    """
    name = written.name.parts[-1].name.upper()
    # `*` is the only argument of a call, so it is an argument too few here.
    arguments = [each for each in written.arguments if not isinstance(each, syntax.Star)]
    function = _FUNCTIONS.get(name)
    zoned = function is not None and function.zoned and len(arguments) == 3
    if function is not None and (zoned or function.number is not None):
        if len(arguments) != 2 + zoned:
            takes = "a text" if function.of_text else "a number"
            raise refusal(
                "E401",
                f"{name} takes {takes} and a pattern",
                written.span,
                help=f"write {name}({'text' if function.of_text else 'n'}, 'yyyy-MM-dd')",
            )
        return _text_call(written, function, *arguments)
    if name in _OF_TIME:
        return _moved_time(written, name, arguments)
    if name in _SUBTRACT and len(arguments) == 3:
        unit, number, time = arguments
        less = syntax.Unary(number.span, "-", number)
        return syntax.FunctionCall.of(written.span, "TIMESTAMPADD", unit, less, time)
    return None


def _text_call(
    written: syntax.FunctionCall,
    function: _Function,
    value: syntax.Expression,
    pattern: syntax.Expression,
    zone: syntax.Expression | None = None,
) -> syntax.Expression:
    """Return a function between a time, or the number of it, and its text.

    Raises:
        Refusal: E405.
    """
    utc = syntax.StringLiteral(written.span, "UTC")
    made = value
    if not function.of_text:
        if function.number is not None:
            made = syntax.FunctionCall.of(written.span, function.number, made)
        if zone is not None:
            made = _in_zone(made, utc, zone)
        return syntax.FunctionCall.of(written.span, function.name, made, pattern)
    made = syntax.FunctionCall.of(written.span, function.name, value, pattern)
    if zone is not None:
        _check_pattern(pattern)
        made = _in_zone(made, zone, utc)
    return (
        made
        if function.number is None
        else syntax.FunctionCall.of(written.span, function.number, made)
    )


def _moved_time(
    written: syntax.FunctionCall, name: str, arguments: Sequence[syntax.Expression]
) -> syntax.Expression:
    """Return a time of day a number of units later or earlier.

    Raises:
        Refusal: E401.
    """
    unit = _UNITS.get(_word(arguments[0]).upper().removesuffix("S")) if arguments else None
    if unit is None or len(arguments) != 3:
        raise refusal(
            "E401",
            f"{name} takes a unit from HOURS to MILLISECONDS, a number and a TIME",
            written.span,
            help=f"write {name}(MINUTES, 5, t)",
        )
    word, number, time = arguments
    one = syntax.IntervalLiteral(word.span, syntax.StringLiteral(word.span, unit[0]), unit[1])
    length = syntax.Chain(written.span, one, (syntax.ChainLink(number.span, "*", number),))
    link = syntax.ChainLink(written.span, _OF_TIME[name], length)
    return syntax.Chain(written.span, time, (link,))


def _word(argument: syntax.Expression) -> str:
    """Return a unit that is written as a word or a text; empty for other arguments."""
    match argument:
        case syntax.StringLiteral(value=word):
            return word
        case syntax.ColumnReference(parts=(syntax.Identifier(name=word),)):
            return word
        case _:
            return ""


def _in_zone(
    time: syntax.Expression, given: syntax.Expression, wanted: syntax.Expression
) -> syntax.Expression:
    """Return the local time in one zone as that in another."""
    return syntax.AtTimeZone(time.span, syntax.AtTimeZone(time.span, time, given), wanted)


def _check_pattern(pattern: syntax.Expression) -> None:
    """Refuse a time zone beside a pattern that reads one.

    Raises:
        Refusal: E405.
    """
    if not isinstance(pattern, syntax.StringLiteral):
        return
    outside = "".join(pattern.value.split("'")[::2])
    if _ZONE_LETTERS & {*outside}:
        raise refusal(
            "E405",
            "the pattern has a time zone, and another one is given",
            pattern.span,
            help="remove the third argument: the zone of the text is used",
        )
