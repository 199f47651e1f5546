"""PRINTF: texts by a pattern with directives, after Java's Formatter.

The arguments come as texts, as CAST writes them: the binder has checked that their types fit the directives.
A DOUBLE is rounded from the shortest decimal that is the number, half away from zero, as Java does.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import STRING

_DIRECTIVE: Final = re.compile(
    r"%(?P<flags>[-0+,]*)(?P<width>[1-9][0-9]{0,2})?(?:\.(?P<precision>[0-9]{1,2}))?(?P<kind>[sdf])"
)
_DIGITS: Final = Context(prec=1_000, rounding=ROUND_HALF_UP)
"""Enough for any DOUBLE with all the digits after the point that a directive can ask for."""


class Directive(NamedTuple):
    """`%-8.2f`: `kind` is s, d or f."""

    kind: str
    flags: str
    width: int
    precision: int | None

    @property
    def wrong(self) -> bool:
        """Return whether flags, width and precision contradict each other."""
        flags = set(self.flags)
        padded = flags & {"-", "0"}
        return (
            len(flags) < len(self.flags)
            or len(padded) > 1
            or (bool(padded) and not self.width)
            or (self.kind == "s" and not flags <= {"-"})
            or (self.kind == "d" and self.precision is not None)
        )


@lru_cache(maxsize=256)
def format_pieces(pattern: str) -> tuple[str | Directive, ...] | None:
    """Return the texts and directives of a pattern; None if a directive is not valid."""
    pieces: list[str | Directive] = []
    at = 0
    while at < len(pattern):
        found = _DIRECTIVE.match(pattern, at)
        if found is not None:
            width, precision = found["width"], found["precision"]
            directive = Directive(
                found["kind"],
                found["flags"],
                int(width) if width else 0,
                int(precision) if precision else None,
            )
            if directive.wrong:
                return None
            pieces.append(directive)
            at = found.end()
        elif pattern.startswith("%%", at):
            pieces.append("%")
            at += 2
        elif pattern[at] == "%":
            return None
        else:
            end = pattern.find("%", at)
            pieces.append(pattern[at : end if end >= 0 else len(pattern)])
            at = end if end >= 0 else len(pattern)
    return tuple(pieces)


def _format_error(pattern: str) -> str | None:
    if format_pieces(pattern) is not None:
        return None
    return "a directive of PRINTF is %s, %d, %f or %%, with a width and flags such as %-8s, %05d and %,.2f"


def _printf(pattern: str | None, *texts: str | None) -> str | None:
    pieces = None if pattern is None else format_pieces(pattern)
    if pieces is None:
        return None
    waiting = iter(texts)
    return "".join(
        piece if isinstance(piece, str) else _format(piece, next(waiting, None)) for piece in pieces
    )


def _format(directive: Directive, text: str | None) -> str:
    value = "null" if text is None else text
    if directive.kind == "s":
        value = value[: directive.precision]
    elif text is not None and text.lstrip("-")[:1].isdigit():
        return _number(directive, Decimal(text))
    elif text == "Infinity" and "+" in directive.flags:
        value = "+Infinity"
    left = "-" in directive.flags
    return value.ljust(directive.width) if left else value.rjust(directive.width)


def _number(directive: Directive, value: Decimal) -> str:
    if directive.kind == "f":
        digits = 6 if directive.precision is None else directive.precision
        value = _DIGITS.quantize(value, Decimal(1).scaleb(-digits))
    shown = format(value.copy_abs(), ",f" if "," in directive.flags else "f")
    sign = "-" if value.is_signed() else "+" if "+" in directive.flags else ""
    if "0" in directive.flags:
        return sign + shown.rjust(directive.width - len(sign), "0")
    shown = sign + shown
    return shown.ljust(directive.width) if "-" in directive.flags else shown.rjust(directive.width)


PRINTF: Final = Function(
    "printf",
    ("PRINTF", "FORMAT_STRING"),
    (
        Signature((STRING, STRING), STRING, _printf, variadic=True),
        Signature((STRING,), STRING, _printf),
    ),
    Nullability.NEVER,
    strict=False,
    literal_check=_format_error,
    literal_index=0,
)
