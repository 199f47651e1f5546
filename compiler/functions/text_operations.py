"""More functions on strings: measures, lists in texts, masks, similarity, normal forms, quotes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.failure import OutOfRangeFailure
from fsql.compiler.functions.printf import PRINTF
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.functions.texts import CHARACTERS_MAX
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, BYTES, DOUBLE, STRING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_FORMS: Final = ("NFC", "NFD", "NFKC", "NFKD")


def _form_error(form: str) -> str | None:
    return None if form.upper() in _FORMS else f"a form of NORMALIZE is {', '.join(_FORMS)}"


def _normalize(text: str, form: str = "NFC") -> str:
    return unicodedata.normalize(form.upper(), text)  # type: ignore[arg-type]


def _strip_accents(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    plain = "".join(each for each in apart if not unicodedata.combining(each))
    return unicodedata.normalize("NFC", plain)


def _substring_index(text: str, separator: str, count: int) -> str:
    """Return what comes before the n-th separator, or after the n-th from the end if n is negative."""
    if not separator or not count:
        return ""
    parts = text.split(separator)
    return separator.join(parts[:count] if count > 0 else parts[count:])


def _find_in_set(wanted: str, texts: str) -> int:
    parts = texts.split(",")
    return parts.index(wanted) + 1 if texts and wanted in parts else 0


def _element(number: int | None, *texts: str | None) -> str | None:
    return texts[number - 1] if number is not None and 1 <= number <= len(texts) else None


def _field(wanted: str | None, *texts: str | None) -> int:
    return texts.index(wanted) + 1 if wanted is not None and wanted in texts else 0


def _space(count: int) -> str:
    if count > CHARACTERS_MAX:
        raise OutOfRangeFailure(STRING)
    return " " * max(count, 0)


def _mask(text: str) -> str:
    """Return the text with X, x and n for upper case, lower case and digits, and - for all others."""
    made = []
    for each in text:
        shape = "X" if each.isupper() else "x" if each.islower() else "n" if each.isdigit() else "-"
        made.append(shape)
    return "".join(made)


def _cut(count: int) -> int:
    return max(count, 0)


def _mask_left(text: str, count: int) -> str:
    return _mask(text[: _cut(count)]) + text[_cut(count) :]


def _mask_right(text: str, count: int) -> str:
    kept = max(len(text) - _cut(count), 0)
    return text[:kept] + _mask(text[kept:])


def _keep_left(text: str, count: int) -> str:
    return text[: _cut(count)] + _mask(text[_cut(count) :])


def _keep_right(text: str, count: int) -> str:
    kept = max(len(text) - _cut(count), 0)
    return _mask(text[:kept]) + text[kept:]


_SOUNDS: Final = {
    letter: str(number)
    for number, letters in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), 1)
    for letter in letters
}


def _soundex(text: str) -> str:
    """Return the letter and three digits of American Soundex; '' of a text without ASCII letters."""
    letters = [each for each in text.upper() if "A" <= each <= "Z"]
    if not letters:
        return ""
    made, before = letters[0], _SOUNDS.get(letters[0])
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter)
        if sound is not None and sound != before:
            made += sound
        # H and W do not separate two letters of one sound; vowels do.
        if letter not in "HW":
            before = sound
    return made[:4].ljust(4, "0")


def _hamming(left: str, right: str) -> int | None:
    if len(left) != len(right):
        return None
    return sum(one != other for one, other in zip(left, right, strict=True))


def _jaro(left: str, right: str) -> float:
    if len(left) * len(right) > CHARACTERS_MAX:
        raise OutOfRangeFailure(DOUBLE)
    if left == right:
        return 1.0
    reach = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = [False] * len(right)
    matched = []
    for i, one in enumerate(left):
        for j in range(max(i - reach, 0), min(i + reach + 1, len(right))):
            if not taken[j] and right[j] == one:
                taken[j] = True
                matched.append(one)
                break
    count = len(matched)
    if not count:
        return 0.0
    others = [each for each, used in zip(right, taken, strict=True) if used]
    swapped = sum(one != other for one, other in zip(matched, others, strict=True)) // 2
    return (count / len(left) + count / len(right) + (count - swapped) / count) / 3


def _jaro_winkler(left: str, right: str) -> float:
    likeness = _jaro(left, right)
    if likeness <= 0.7:
        return likeness
    common = 0
    for one, other in zip(left[:4], right[:4], strict=False):
        if one != other:
            break
        common += 1
    return likeness + common * 0.1 * (1 - likeness)


def _quote_ident(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _regexp_escape(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9_])", r"\\\1", text)


def _strip(sides: str) -> Callable[[str, str], str]:
    def scalar(text: str, characters: str) -> str:
        if not characters:
            return text
        text = text.lstrip(characters) if "l" in sides else text
        return text.rstrip(characters) if "r" in sides else text

    return scalar


_SHA2: Final = {"224", "256", "384", "512"}


def _sha2(text: str, bits: int) -> str | None:
    name = str(bits or 256)
    return _digest(f"sha{name}")(text) if name in _SHA2 else None


def _digest(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def _xxh64(text: str) -> int:
    import xxhash

    return int.from_bytes(xxhash.xxh64_digest(text.encode()), "big", signed=True)


_TEXT: Final = (STRING,)
_TWO: Final = (STRING, STRING)
_COUNTED: Final = (STRING, BIGINT)

STRIPPED: Final = {
    "trim": Signature(_TWO, STRING, _strip("lr")),
    "ltrim": Signature(_TWO, STRING, _strip("l")),
    "rtrim": Signature(_TWO, STRING, _strip("r")),
}
"""The functions that cut off any of some characters."""


def _of(
    name: str,
    parameters: tuple[SqlType, ...],
    result: SqlType,
    scalar: Callable[..., Value],
    *others: str,
) -> Function:
    signature = Signature(parameters, result, scalar)
    return Function(name, (name.upper(), *others), (signature,))


def _chosen(name: str, signature: Signature, nullability: Nullability) -> Function:
    return Function(name, (name.upper(),), (signature,), nullability, strict=False)


_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _test(name: str, test: Callable[[str], bool]) -> Function:
    """Return a test of a text, which is FALSE of NULL."""
    signature = Signature(_TEXT, BOOLEAN, lambda text: text is not None and test(text))
    return _chosen(name, signature, Nullability.NEVER)


TEXT_OPERATIONS: Final = (
    PRINTF,
    _test("is_alpha", str.isalpha),
    _test("is_digit", str.isdecimal),
    _test("is_decimal", lambda text: _DECIMAL.fullmatch(text) is not None),
    Function(
        "octet_length",
        ("OCTET_LENGTH",),
        (
            Signature(_TEXT, BIGINT, lambda text: len(text.encode())),
            Signature((BYTES,), BIGINT, len),
        ),
    ),
    _of("bit_length", _TEXT, BIGINT, lambda text: len(text.encode()) * 8),
    _of("substring_index", (STRING, STRING, BIGINT), STRING, _substring_index),
    _of("find_in_set", _TWO, BIGINT, _find_in_set),
    _chosen(
        "elt",
        Signature((BIGINT, STRING), STRING, _element, variadic=True),
        Nullability.ALWAYS,
    ),
    _chosen("field", Signature(_TWO, BIGINT, _field, variadic=True), Nullability.NEVER),
    Function("space", ("SPACE",), (Signature((BIGINT,), STRING, _space, fallible=True),)),
    _of("mask", _TEXT, STRING, _mask),
    _of("mask_left", _COUNTED, STRING, _mask_left),
    _of("mask_right", _COUNTED, STRING, _mask_right),
    _of("mask_keep_left", _COUNTED, STRING, _keep_left),
    _of("mask_keep_right", _COUNTED, STRING, _keep_right),
    _of("soundex", _TEXT, STRING, _soundex),
    Function("hamming", ("HAMMING",), (Signature(_TWO, BIGINT, _hamming),), Nullability.ALWAYS),
    Function(
        "jaro_similarity", ("JARO_SIMILARITY",), (Signature(_TWO, DOUBLE, _jaro, fallible=True),)
    ),
    Function(
        "jaro_winkler_similarity",
        ("JARO_WINKLER_SIMILARITY",),
        (Signature(_TWO, DOUBLE, _jaro_winkler, fallible=True),),
    ),
    Function(
        "normalize",
        ("NORMALIZE",),
        (Signature(_TEXT, STRING, _normalize), Signature(_TWO, STRING, _normalize)),
        literal_check=_form_error,
        literal_index=1,
        literal_word="form",
    ),
    _of("strip_accents", _TEXT, STRING, _strip_accents),
    _of("casefold", _TEXT, STRING, str.casefold),
    _of("quote_ident", _TEXT, STRING, _quote_ident),
    _of("quote_literal", _TEXT, STRING, _quote_literal),
    _of("regexp_escape", _TEXT, STRING, _regexp_escape),
    _of("sha224", _TEXT, STRING, _digest("sha224")),
    _of("sha384", _TEXT, STRING, _digest("sha384")),
    Function("sha2", ("SHA2",), (Signature(_COUNTED, STRING, _sha2),), Nullability.ALWAYS),
    _of("xxh64", _TEXT, BIGINT, _xxh64),
)
