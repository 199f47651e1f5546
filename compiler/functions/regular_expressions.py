r"""Regular expressions, by RE2: the time is linear in the length of the text, whatever the pattern.

The syntax is that of RE2, which has neither backreferences nor looking around.  A constant pattern is
checked before the job runs.  Where a pattern varies and is invalid, nothing matches it.  Texts
are matched as UTF-8: `.` is one code point.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, array_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Value


class Found(Protocol):
    """A match, as RE2 has it."""

    re: Compiled

    def __getitem__(self, number: int) -> bytes | None: ...
    def group(self, number: int) -> bytes | None: ...
    def start(self) -> int: ...
    def end(self) -> int: ...


class Compiled(Protocol):
    """A compiled pattern, as RE2 has it."""

    groups: int

    def search(self, text: bytes, start: int = 0) -> Found | None: ...


PATTERN_LENGTH_MAX: Final = 10_000
"""The longest pattern, in characters."""


@lru_cache(maxsize=256)
def regexp_error(pattern: str) -> str | None:
    """Return what is wrong with a regular expression, or None."""
    if len(pattern) > PATTERN_LENGTH_MAX:
        length = f"{len(pattern):,} characters; the limit is {PATTERN_LENGTH_MAX:,}"
        return f"regular expression is too long: {length}"
    # Loading RE2 takes time that only queries with a regular expression should spend.
    import re2

    try:
        compile_pattern(pattern)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return f"regular expression is invalid: {text}"
    return None


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Compiled:
    """Return the compiled pattern, over bytes.

    Raises:
        re2.error: it is invalid.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    made: Compiled = re2.compile(pattern.encode(), options)
    return made


@lru_cache(maxsize=256)
def group_count(pattern: str) -> int:
    """Return how many groups a pattern has; RE2 counts them again each time."""
    return compile_pattern(pattern).groups


def _where_valid(scalar: Callable[..., Value], otherwise: Value) -> Callable[..., Value]:
    """Return a function of a text and a pattern whose result is `otherwise` if the pattern is invalid."""

    def of_any_pattern(text: str, pattern: str, *others: Value) -> Value:
        return otherwise if regexp_error(pattern) else scalar(text, pattern, *others)

    return of_any_pattern


def _matches(text: str, pattern: str) -> bool:
    return compile_pattern(pattern).search(text.encode()) is not None


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    """Return the text of a group of the first match; NULL if there is none."""
    if not 0 <= group <= group_count(pattern):
        return None
    found = compile_pattern(pattern).search(text.encode())
    value = None if found is None else found[group]
    return None if value is None else value.decode()


_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)", re.DOTALL)


def _replace(text: str, pattern: str, by: str, flags: str = "g") -> str:
    r"""Return `text` with every match replaced; `$1` or `\1` in `by` is the first group.

    With flags it is the first match only unless they have a `g`; of `i` and `c` the last counts.
    """
    if flags.rfind("i") > flags.rfind("c"):
        pattern = f"(?i:{pattern})"
    encoded = text.encode()
    made = []
    copied = start = 0
    while start <= len(encoded) and (found := compile_pattern(pattern).search(encoded, start)):
        made += [encoded[copied : found.start()], _fill_in(by, found)]
        copied = start = found.end()
        if "g" not in flags:
            break
        if found.start() == found.end():
            start = _after_character(encoded, start)
    return b"".join([*made, encoded[copied:]]).decode()


def _after_character(encoded: bytes, at: int) -> int:
    """Return where the character after the one at `at` begins."""
    at += 1
    while at < len(encoded) and encoded[at] & 0xC0 == 0x80:
        at += 1
    return at


def _fill_in(by: str, found: Found) -> bytes:
    def group(reference: re.Match[str]) -> str:
        number = reference[2] or reference[1]
        if not (number.isascii() and number.isdigit()):
            return number
        value = found.group(int(number)) if int(number) <= found.re.groups else None
        return "" if value is None else value.decode()

    return _REFERENCE.sub(group, by).encode()


def _matches_of(text: str, pattern: str) -> Iterator[Found]:
    """Yield the matches, which do not overlap; an empty one may follow another."""
    encoded = text.encode()
    start = 0
    while start <= len(encoded) and (found := compile_pattern(pattern).search(encoded, start)):
        yield found
        start = found.end()
        if found.start() == found.end():
            start = _after_character(encoded, start)


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in _matches_of(text, pattern))


def _position(text: str, pattern: str) -> int:
    encoded = text.encode()
    found = compile_pattern(pattern).search(encoded)
    return 0 if found is None else len(encoded[: found.start()].decode()) + 1


def _all_of(text: str, pattern: str, group: int) -> tuple[str, ...] | None:
    if not 0 <= group <= compile_pattern(pattern).groups:
        return None
    return tuple((found.group(group) or b"").decode() for found in _matches_of(text, pattern))


def _split(text: str, pattern: str) -> tuple[str, ...]:
    """Return the texts between matches that are not empty."""
    encoded = text.encode()
    parts, begun = [], 0
    for found in _matches_of(text, pattern):
        if found.end() > found.start():
            parts.append(encoded[begun : found.start()].decode())
            begun = found.end()
    return (*parts, encoded[begun:].decode())


def _matches_whole(text: str, pattern: str) -> bool:
    return compile_pattern(rf"\A(?:{pattern})\z").search(text.encode()) is not None


def _group_error(values: Sequence[object]) -> tuple[int, str] | None:
    """Return the group of REGEXP_EXTRACT that the pattern does not have."""
    _, pattern, *group = values
    if not group or not isinstance(pattern, str) or not isinstance(group[0], int):
        return None
    return _missing_group(pattern, group[0])


def _replacement_error(values: Sequence[object]) -> tuple[int, str] | None:
    """Return wrong flags, or the reference in the replacement to a group that the pattern does not have."""
    _, pattern, by, *flags = values
    if flags and (not isinstance(flags[0], str) or not set(flags[0]) <= {*"gic"}):
        return 3, (
            "the flags of REGEXP_REPLACE are a constant text of g (all matches, not only the first),"
            " i (ignore case) and c"
        )
    if not isinstance(pattern, str) or not isinstance(by, str):
        return None
    for found in _REFERENCE.finditer(by):
        number = found[2] or found[1]
        if (
            number.isascii()
            and number.isdigit()
            and (wrong := _missing_group(pattern, int(number)))
        ):
            return wrong
    return None


def _missing_group(pattern: str, group: int) -> tuple[int, str] | None:
    count = compile_pattern(pattern).groups
    if 0 <= group <= count:
        return None
    return 2, f"the pattern has no group {group}: its groups are 0, the whole match, to {count}"


def _matches_ignoring_case(text: str, pattern: str) -> bool:
    return _matches(text, f"(?i:{pattern})")


_SIMILAR: Final = re.compile(r"\\(.)|(\[[^\]]*\])|(.)", re.DOTALL)


@lru_cache(maxsize=256)
def _similar_pattern(pattern: str) -> str:
    """Return the expression of a pattern of SIMILAR TO."""
    made = []
    for escaped, brackets, sign in _SIMILAR.findall(pattern):
        if escaped:
            made.append(re.escape(escaped))
        elif brackets:
            made.append(brackets)
        else:
            made.append(
                {"%": ".*", "_": "."}.get(sign) or (sign if sign in "|*+?{}()" else re.escape(sign))
            )
    return rf"(?s)\A(?:{''.join(made)})\z"


def _similar(text: str, pattern: str) -> bool:
    return _matches(text, _similar_pattern(pattern))


def _similar_error(pattern: str) -> str | None:
    if pattern.endswith("\\") and (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        return "pattern of SIMILAR TO must not end with the escape character"
    wrong = regexp_error(_similar_pattern(pattern))
    # The error is reported without the expression that the pattern was made into.
    return wrong and wrong.partition(": (?s)")[0].replace(
        "regular expression", "pattern of SIMILAR TO"
    )


_TWO: Final = (STRING, STRING)

REGULAR_EXPRESSIONS = (
    Function(
        "regexp_like",
        ("REGEXP_LIKE", "REGEXP", "REGEXP_MATCHES", "RLIKE"),
        (Signature(_TWO, BOOLEAN, _where_valid(_matches, otherwise=False)),),
        literal_check=regexp_error,
        literal_index=1,
        may_vary=True,
    ),
    Function(
        "regexp_extract",
        ("REGEXP_EXTRACT",),
        tuple(
            Signature((*_TWO, *group), STRING, _where_valid(_extract, None))
            for group in ((), (BIGINT,))
        ),
        Nullability.ALWAYS,
        literal_check=regexp_error,
        literal_index=1,
        may_vary=True,
        constants_check=_group_error,
    ),
    Function(
        "regexp_replace",
        ("REGEXP_REPLACE",),
        (
            Signature((*_TWO, STRING), STRING, _replace),
            Signature((*_TWO, STRING, STRING), STRING, _replace),
        ),
        literal_check=regexp_error,
        literal_index=1,
        constants_check=_replacement_error,
    ),
    *(
        Function(
            name,
            (name.upper(),),
            (Signature((*_TWO, BIGINT) if name == "regexp_extract_all" else _TWO, result, scalar),),
            nullability,
            literal_check=regexp_error,
            literal_index=1,
            may_vary=nullability is Nullability.ALWAYS or result is BOOLEAN,
            constants_check=_group_error if name == "regexp_extract_all" else None,
        )
        for name, result, scalar, nullability in (
            ("regexp_count", BIGINT, _count, Nullability.ANY_ARGUMENT),
            ("regexp_instr", BIGINT, _position, Nullability.ANY_ARGUMENT),
            ("regexp_substr", STRING, _where_valid(_extract, None), Nullability.ALWAYS),
            (
                *("regexp_extract_all", array_of(STRING)),
                *(_where_valid(_all_of, None), Nullability.ALWAYS),
            ),
            ("regexp_split_to_array", array_of(STRING), _split, Nullability.ANY_ARGUMENT),
            *(
                (name, BOOLEAN, _where_valid(scalar, otherwise=False), Nullability.ANY_ARGUMENT)
                for name, scalar in (
                    ("regexp_full_match", _matches_whole),
                    ("regexp_ilike", _matches_ignoring_case),
                )
            ),
        )
    ),
    Function(
        "similar_to",
        ("SIMILAR_TO",),
        (Signature(_TWO, BOOLEAN, _similar),),
        literal_check=_similar_error,
        literal_index=1,
    ),
)
