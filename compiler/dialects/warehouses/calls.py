"""Functions of Snowflake, BigQuery, Spark and Flink 2, in terms of those of this language.

PARSE_JSON(s)               →   CAST(s AS JSON); TRY_PARSE_JSON is TRY_CAST
TRUNC(d, 'MONTH')           →   FLOOR(d TO MONTH)
TIMESTAMP_TRUNC(t, MONTH)   →   FLOOR(t TO MONTH), also DATE_TRUNC(t, MONTH) and DATETIME_TRUNC
TIMESTAMP_TRUNC(t, ISOWEEK) →   FLOOR(t TO WEEK), from Monday; WEEK of BigQuery, from Sunday, is refused
DATE_TRUNC('decade', t)     →   FLOOR(CAST(t AS TIMESTAMP) TO DECADE)
INSTR(s, part, 2)           →   LOCATE(part, s, 2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from fsql.compiler import syntax
from fsql.compiler.diagnostics.refusal import refusal

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

_UNITS: Final = {
    **{
        unit: unit
        for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    },
    **dict.fromkeys(("YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("MM", "MON"), "MONTH"),
}
"""Units of TRUNC and its like, by their names."""
_LONG: Final = {
    **dict.fromkeys(("DECADE", "DECADES"), "DECADE"),
    **dict.fromkeys(("CENTURY", "CENTURIES"), "CENTURY"),
    **dict.fromkeys(("MILLENNIUM", "MILLENNIA", "MILLENNIUMS"), "MILLENNIUM"),
}
_TRUNCATIONS: Final = frozenset({"TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "DATE_TRUNC"})


def standard_call(written: syntax.FunctionCall) -> syntax.Expression | None:
    """Return a call of such a function in terms of those of this language; None for other calls.

    Raises:
        Refusal: E401.
    """
    name, span = written.name.parts[-1].name.upper(), written.span
    arguments = [each for each in written.arguments if not isinstance(each, syntax.Star)]
    match name, arguments:
        case (("PARSE_JSON" | "TRY_PARSE_JSON"), [text]):
            type_ = syntax.TypeName(written.name.span, "JSON")
            return syntax.Cast(span, text, type_, safe=name.startswith("TRY"))
        case "INSTR", [text, part, syntax.NumberLiteral() as start]:
            return syntax.FunctionCall.of(written.name.span, "LOCATE", part, text, start)
        case "DATE_TRUNC", [syntax.StringLiteral(value=unit), time] if unit.upper() in _LONG:
            type_ = syntax.TypeName(time.span, "TIMESTAMP")
            return _floor(
                span, syntax.Cast(time.span, time, type_, safe=False), _LONG[unit.upper()]
            )
        case _, [time, unit] if name in _TRUNCATIONS:
            word = _word(unit, quoted=name != "DATE_TRUNC", bare=name != "TRUNC")
            if name != "TRUNC" and word in {"WEEK", "ISOWEEK"}:
                return _floor(span, time, _week(name, word, unit.span))
            found = _UNITS.get(word) or _LONG.get(word)
            is_time = not isinstance(time, syntax.StringLiteral)
            return _floor(span, time, found) if found and is_time else None
        case _:
            return None


def _week(name: str, word: str, span: Span) -> str:
    """Return the unit of weeks from Monday.

    Raises:
        Refusal: E401, for those from Sunday.
    """
    if word == "ISOWEEK":
        return "WEEK"
    raise refusal(
        "E401",
        f"weeks of {name} begin on Sunday in BigQuery, and on Monday here",
        span,
        help=f"for weeks from Monday write {name}(t, ISOWEEK), or FLOOR(t TO WEEK)",
    )


def _word(unit: syntax.Expression, *, quoted: bool, bare: bool) -> str:
    """Return a unit that is written in quotes or as a bare word, in upper case; "" if it is neither."""
    match unit:
        case syntax.StringLiteral(value=text) if quoted:
            return text.upper()
        case syntax.ColumnReference(parts=(name,)) if bare:
            return name.name.upper()
        case _:
            return ""


def _floor(span: Span, time: syntax.Expression, unit: str) -> syntax.RoundTime:
    return syntax.RoundTime(span, "FLOOR", time, cast("syntax.Unit | syntax.LongUnit", unit))
