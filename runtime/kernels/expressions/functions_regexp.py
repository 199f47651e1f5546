r"""Regular expressions over columns: Arrow has RE2 too, and calls it for a whole column at once.

REGEXP_LIKE is a function of Arrow.  To extract one group of a pattern, the pattern is rewritten so that it
has no other group:

    (&|^)channel_id=([^&]*)   group 2   ->   (?:&|^)channel_id=(?P<group>[^&]*)

Arrow returns an empty text for a group that is not part of the match, for which the result is NULL. So empty
texts are computed one by one, and so are few rows, and patterns that the RE2 of Arrow does not accept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.regular_expressions import group_count, regexp_error
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.strict import over_dictionary
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_value,
    from_array,
    plain_values,
    validity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call
    from fsql.runtime.kernels.expressions.vectors import Kernel

_PIECE: Final = re.compile(
    r"""
    \\.                                                       # an escaped character
    | \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^\]\\] )* \]       # a class of characters
    | \( (?: \?P?<\w+> | (?!\?) )                             # a group, with a name or without
    """,
    re.VERBOSE | re.DOTALL,
)


def _make_like(call: Call) -> Kernel:
    one_by_one = per_value(call)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        strings, pattern = arguments
        regexp = common_value(pattern)
        if len(strings.values) <= FEW_ROWS or regexp is None:
            return one_by_one(arguments)
        try:
            matches = pc.match_substring_regex(plain_values(strings), regexp)
        except pa.ArrowInvalid:
            return one_by_one(arguments)
        values, valid, _ = from_array(matches, call.type)
        return Vector(values, valid, strings.failed)

    return over_dictionary(kernel)


def _make_extract(call: Call) -> Kernel:
    one_by_one = per_value(call)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        strings, *constants = arguments
        pattern, *numbers = map(common_value, constants)
        rewritten = None
        if len(strings.values) > FEW_ROWS and pattern is not None and None not in numbers:
            rewritten = with_one_group(pattern, *numbers)
        if rewritten is None:
            return one_by_one(arguments)
        texts = plain_values(strings)
        try:
            found = pc.struct_field(pc.extract_regex(texts, rewritten), 0)
        except pa.ArrowInvalid:
            return one_by_one(arguments)
        empty = pc.fill_null(pc.equal(found, ""), fill_value=False)
        if empty.true_count:
            exact = one_by_one([Vector(texts.filter(empty)), *constants])
            found = pc.replace_with_mask(found, empty, plain_values(exact))
        return Vector(found, validity(found), strings.failed)

    return over_dictionary(kernel)


@lru_cache(maxsize=256)
def with_one_group(pattern: str, number: int = 0) -> str | None:
    """Return the pattern with group `number` as its only one; None if it cannot be rewritten safely."""
    groups = group_count(pattern)
    if r"\Q" in pattern or not 0 <= number <= groups:
        return None
    seen = 0

    def rewrite(piece: re.Match[str]) -> str:
        nonlocal seen
        if not piece.group().startswith("("):
            return piece.group()
        seen += 1
        return "(?P<group>" if seen == number else "(?:"

    made = _PIECE.sub(rewrite, pattern)
    if number == 0:
        made = f"(?P<group>{made})"
    certain = seen == groups and regexp_error(made) is None and group_count(made) == 1
    return made if certain else None


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "regexp_like": _make_like,
    "regexp_extract": _make_extract,
    "regexp_substr": _make_extract,
}
