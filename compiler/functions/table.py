"""The table of scalar functions.

A `Call` in a plan names its function by `Function.name`; SQL text uses one of `spellings`.  The binder
finds functions here by spelling, everything below it by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.arithmetic import ARITHMETIC
from fsql.compiler.functions.array_operations import ARRAY_OPERATIONS
from fsql.compiler.functions.arrays import ARRAYS
from fsql.compiler.functions.calendar_fields import CALENDAR_FIELDS
from fsql.compiler.functions.comparison import COMPARISON
from fsql.compiler.functions.date_arithmetic import DATE_ARITHMETIC
from fsql.compiler.functions.elementary import ELEMENTARY
from fsql.compiler.functions.encodings import ENCODINGS
from fsql.compiler.functions.event_times import EVENT_TIMES
from fsql.compiler.functions.failing import FAILING
from fsql.compiler.functions.json_clauses import JSON_CLAUSES
from fsql.compiler.functions.json_functions import JSON_FUNCTIONS
from fsql.compiler.functions.maps import MAPS
from fsql.compiler.functions.mathematics import MATHEMATICS
from fsql.compiler.functions.python_functions import PREFIX, find_function
from fsql.compiler.functions.regular_expressions import REGULAR_EXPRESSIONS
from fsql.compiler.functions.rounding import ROUNDING
from fsql.compiler.functions.signature import Function, Match, match_signature
from fsql.compiler.functions.strings import STRINGS
from fsql.compiler.functions.text_operations import TEXT_OPERATIONS
from fsql.compiler.functions.texts import TEXTS
from fsql.compiler.functions.time_texts import TIME_TEXTS
from fsql.compiler.functions.urls import URLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import Call


class _Functions(dict[str, Function]):
    """The functions by name; those written in Python are found but not listed."""

    def __missing__(self, name: str) -> Function:
        """Return the Python function of that name."""
        function = find_function(name) if name.startswith(PREFIX) else None
        if function is None:
            raise KeyError(name)
        return function


FUNCTIONS: Final[Mapping[str, Function]] = _Functions(
    (function.name, function)
    for function in (
        *ARITHMETIC,
        *COMPARISON,
        *STRINGS,
        *TEXTS,
        *ENCODINGS,
        *REGULAR_EXPRESSIONS,
        *ARRAYS,
        *ROUNDING,
        *ELEMENTARY,
        *EVENT_TIMES,
        *CALENDAR_FIELDS,
        *TIME_TEXTS,
        *DATE_ARITHMETIC,
        *MATHEMATICS,
        *TEXT_OPERATIONS,
        *URLS,
        *ARRAY_OPERATIONS,
        *MAPS,
        *JSON_FUNCTIONS,
        *JSON_CLAUSES,
        *FAILING,
    )
)
"""Every scalar function and operator, by its name in plans; also the registered Python functions."""

CALLABLE: Final[Mapping[str, Function]] = {
    spelling: function
    for function in FUNCTIONS.values()
    for spelling in function.spellings
    if spelling.isidentifier() and spelling not in {"AND", "OR", "NOT", "LIKE"}
}
"""The functions that SQL calls as `NAME(…)`, by each of their names in capitals."""


def match_call(call: Call) -> Match:
    """Return the signature that a bound call uses."""
    match = match_signature(
        FUNCTIONS[call.function], [argument.type for argument in call.arguments]
    )
    assert match is not None, f"no signature of {call.function} matches a bound call"
    return match
