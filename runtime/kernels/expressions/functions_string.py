"""Functions on strings; positions and lengths count code points, from 1.

If a column has a dictionary, a function of this column alone is computed over the dictionary
(`over_dictionary`).  Arrow requires some arguments to be constant; if they vary by row, a slower
implementation is used, over bytes if possible, otherwise over Python strings.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.functions.like import like, like_segments
from fsql.compiler.sqltypes import BIGINT_MIN, BOOLEAN, STRING, array_of
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.strict import (
    all_valid,
    arrow,
    leftmost_failure,
    over_dictionary,
)
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    common_value,
    offsets,
    plain_values,
    stretched_values,
    validity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.expressions.vectors import Kernel


TEXT_BYTES_MAX: Final = 2**31 - 1
"""The maximum number of bytes of the strings of a batch: Arrow's offsets have 32 bits."""
_SPLIT: Final = pc.get_function("split_pattern")


def _simple(compute: Callable[..., pa.Array]) -> Callable[[Call], Kernel]:
    """Return the maker of a strict function that consists of an Arrow computation, over plain arrays."""
    return lambda call: over_dictionary(arrow(compute, call.type))


def _only(values: pa.Array | pa.Scalar) -> pa.Scalar | None:
    """Return the value of a constant argument that is not NULL; otherwise None."""
    scalar = values if isinstance(values, pa.Scalar) else values[0] if len(values) == 1 else None
    return scalar if scalar is not None and scalar.is_valid else None


def _column(values: pa.Array | pa.Scalar, count: int) -> pa.Array:
    return pa.repeat(values, count) if isinstance(values, pa.Scalar) else values


def _case_change(
    of_ascii: Callable[[pa.Array], pa.Array], of_text: Callable[[str], str]
) -> Callable[[pa.Array], pa.Array]:
    """Return LOWER or UPPER: ASCII in Arrow, other values one by one (ß becomes SS)."""

    def compute(strings: pa.Array) -> pa.Array:
        changed = of_ascii(strings)
        other = pc.fill_null(pc.invert(pc.string_is_ascii(strings)), fill_value=False)
        if other.true_count == 0:
            return changed
        texts = [of_text(text) for text in strings.filter(other).to_pylist()]
        return pc.replace_with_mask(changed, other, pa.array(texts, pa.string()))

    return compute


def _char_length(strings: pa.Array) -> pa.Array:
    return pc.utf8_length(strings).cast(pa.int64())


def _concat(left: pa.Array, right: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(left, right, "")


def _check_replaced(strings: pa.Array, old: str, new: str) -> None:
    """Check that the result of REPLACE fits one array; Arrow does not check, and overwrites memory.

    Raises:
        FsqlError: E506, if it does not.
    """
    growth = len(new.encode()) - len(old.encode())
    if growth <= 0 or strings.nbytes * (1 + growth) <= TEXT_BYTES_MAX:
        return
    found = pc.sum(pc.count_substring(strings, old)).as_py() or 0
    if strings.nbytes + found * growth > TEXT_BYTES_MAX:
        message = (
            f"REPLACE makes more than {TEXT_BYTES_MAX:,} bytes of the texts of one batch of rows"
        )
        raise FsqlError([Diagnostic("E506", message, helps=(CODES["E506"].fix,))])


def _replace(
    strings: pa.Array, pattern: pa.Array | pa.Scalar, replacement: pa.Array | pa.Scalar
) -> pa.Array:
    old, new = _only(pattern), _only(replacement)
    if old is not None and new is not None:
        if not old.as_py():
            return strings
        _check_replaced(strings, old.as_py(), new.as_py())
        return pc.replace_substring(strings, old.as_py(), new.as_py())
    count = len(strings)
    columns = [
        values.to_pylist()
        for values in (strings, _column(pattern, count), _column(replacement, count))
    ]
    replaced = [
        None if None in row else row[0].replace(row[1], row[2]) if row[1] else row[0]
        for row in zip(*columns, strict=True)
    ]
    return pa.array(replaced, pa.string())


def _starts_with(strings: pa.Array, prefix: pa.Array | pa.Scalar) -> pa.Array:
    only = _only(prefix)
    if only is not None:
        return pc.starts_with(strings, only.as_py())
    prefixes = _column(prefix, len(strings))
    beginnings = _slices(strings, 1, np.asarray(_char_length(prefixes).fill_null(0)))
    return pc.equal(beginnings, prefixes)


def _substring(arguments: Sequence[Vector]) -> Vector:
    """Return SUBSTRING, with positions that are constant or differ by row."""
    strings, *bounds = arguments
    count = common_length(arguments)
    text = stretched_values(strings, count)
    if all(len(bound.values) == 1 for bound in bounds):
        cut = _constant_slice(text, *[int(bound.values[0]) for bound in bounds])
    else:
        cut = _slices(text, *[np.broadcast_to(bound.values, count) for bound in bounds])
    valid = all_valid(arguments)
    if valid is not None:
        cut = pc.if_else(pa.array(np.broadcast_to(valid, count)), cut, None)
    return Vector(cut, valid, leftmost_failure(arguments))


def _constant_slice(strings: pa.Array, start: int, length: int | None = None) -> pa.Array:
    first = max(start, 1) - 1
    stop = _LONGEST if length is None else min(max(start - 1 + length, first), _LONGEST)
    return pc.utf8_slice_codeunits(strings, min(first, _LONGEST), stop)


_LONGEST: Final = 2**31 - 1
"""No string of a column is longer: its offsets have 32 bits."""


def _slices(strings: pa.Array, start: Ints | int, length: Ints | None = None) -> pa.Array:
    """Return SUBSTRING with positions that differ by row, by gathering the bytes of each slice."""
    ends = offsets(strings).astype(np.int64)
    if ends[-1] == ends[0]:
        return strings
    text = np.frombuffer(strings.buffers()[2], np.uint8)[ends[0] : ends[-1]]
    character_at = np.append(np.flatnonzero((text & 0xC0) != 0x80), len(text))
    row_first = np.searchsorted(character_at, ends - ends[0])
    count = np.diff(row_first)
    first = np.minimum(np.clip(start, 1, _LONGEST) - 1, count)
    stop = count if length is None else np.minimum(_stops(start, length), count)
    from_byte = character_at[row_first[:-1] + first]
    byte_count = character_at[row_first[:-1] + np.maximum(stop, first)] - from_byte
    new_ends = np.concatenate([[0], np.cumsum(byte_count)])
    taken = np.repeat(from_byte - new_ends[:-1], byte_count) + np.arange(new_ends[-1])
    valid = validity(strings)
    return pa.StringArray.from_buffers(
        len(strings),
        pa.py_buffer(new_ends.astype(np.int32)),
        pa.py_buffer(text[taken]),
        None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little")),
    )


def _stops(start: Ints | int, length: Ints) -> Ints:
    """Return `start - 1 + length`, at most `_LONGEST`, without overflow."""
    before = np.maximum(start, BIGINT_MIN + 1) - 1
    counted = np.maximum(length, 0)
    beyond = before > _LONGEST - counted
    return np.where(beyond, _LONGEST, before + np.where(beyond, 0, counted))


@lru_cache(maxsize=256)
def _split_options(separator: str) -> pc.SplitPatternOptions:
    return pc.SplitPatternOptions(separator)


def _split(strings: pa.Array, separator: pa.Array | pa.Scalar) -> pa.Array:
    only = _only(separator)
    if only is None:
        return pa.nulls(len(strings), arrow_type(array_of(STRING)))
    return _SPLIT.call([strings], _split_options(only.as_py()))


def _make_split_index(call: Call) -> Kernel:
    """Return SPLIT_INDEX: in columns for many rows with a constant separator and index, else one by one."""
    one_by_one = per_value(call)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        strings, *constants = arguments
        separator, ordinal = map(common_value, constants)
        if len(strings.values) <= FEW_ROWS or not separator or ordinal is None:
            return one_by_one(arguments)
        if not 0 <= ordinal < _LONGEST:
            return one_by_one(arguments)
        options = pc.SplitPatternOptions(separator, max_splits=ordinal + 1)
        parts = _SPLIT.call([plain_values(strings)], options)
        ends = offsets(parts)
        missing = np.diff(ends) <= ordinal
        result = parts.values.take(
            pa.array(ends[:-1] + np.where(missing, 0, ordinal), mask=missing)
        )
        return Vector(result, validity(result), strings.failed)

    return over_dictionary(kernel)


def _like(strings: pa.Array, pattern: pa.Array | pa.Scalar) -> pa.Array:
    only = _only(pattern)
    if only is None:
        return pa.nulls(len(strings), arrow_type(BOOLEAN))
    return like_matcher(only.as_py())(strings)


def _make_like(call: Call) -> Kernel:
    """Return LIKE: in columns with a constant pattern, else once for each distinct text and pattern."""
    of_one_pattern, one_by_one = arrow(_like, call.type), per_value(call)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        varies = len(arguments[1].values) > 1
        return one_by_one(arguments) if varies else of_one_pattern(arguments)

    return over_dictionary(kernel)


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "like": _make_like,
    "lower": _simple(_case_change(pc.ascii_lower, str.lower)),
    "upper": _simple(_case_change(pc.ascii_upper, str.upper)),
    "trim": _simple(lambda strings: pc.ascii_trim(strings, " ")),
    "ltrim": _simple(lambda strings: pc.ascii_ltrim(strings, " ")),
    "rtrim": _simple(lambda strings: pc.ascii_rtrim(strings, " ")),
    "char_length": _simple(_char_length),
    "substring": lambda _call: over_dictionary(_substring),
    "concat": _simple(_concat),
    "replace": _simple(_replace),
    "starts_with": _simple(_starts_with),
    "split": _simple(_split),
    "split_index": _make_split_index,
}


# LIKE over columns; `fsql.compiler.functions.like` defines it.
#
# Most patterns are a text with a `%` before or after it, for which Arrow has functions that are several
# times faster than a regular expression.  Other short patterns become a regular expression for RE2, whose
# time is linear in the text.  RE2 is slow for long patterns and refuses very long ones; these are matched
# one value at a time.


_REGEX_LENGTH_MAX: Final = 256
"""The maximum length of a pattern that becomes a regular expression."""


@lru_cache(maxsize=256)
def like_matcher(pattern: str) -> Callable[[pa.StringArray], pa.BooleanArray]:
    """Return the function that computes which values of a column match `pattern`; NULL remains NULL."""
    match [segment.text for segment in like_segments(pattern)]:
        case [str(text)]:
            return lambda strings: pc.equal(strings, text)
        case [str(text), ""]:
            return lambda strings: pc.starts_with(strings, text)
        case ["", str(text)]:
            return lambda strings: pc.ends_with(strings, text)
        case ["", str(text), ""]:
            return lambda strings: pc.match_substring(strings, text)
        case _ if len(pattern) > _REGEX_LENGTH_MAX:
            return lambda strings: _match_each(strings, pattern)
        case _:
            regex = _regex(pattern)
            return lambda strings: pc.match_substring_regex(strings, regex)


def _regex(pattern: str) -> str:
    segments = [
        "".join(
            "." if character is None else re.escape(character) for character in segment.characters
        )
        for segment in like_segments(pattern)
    ]
    return rf"(?s)\A{'.*'.join(segments)}\z"


def _match_each(strings: pa.StringArray, pattern: str) -> pa.BooleanArray:
    values = strings.to_pylist()
    return pa.array([None if text is None else like(text, pattern) for text in values], pa.bool_())
