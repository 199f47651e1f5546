"""The functions that DuckDB does not have: of texts, URLs, bits, arrays and JSON, in another way each."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fsql.tests.reference.failure import NOT_AVAILABLE, NOT_CASTABLE, OUT_OF_RANGE, FailureError
from fsql.tests.reference.order import order_key
from fsql.tests.reference.scalar_json import at_path, pairs, parsed, records_of_json, written

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST: Final = 1_000_000


def counted(first: int, last: int, step: int | None = None) -> tuple[int, ...]:
    """Return the numbers from the first on, up or down to the last."""
    by = step if step is not None else (1 if last >= first else -1)
    if by == 0 or Fraction(last - first, by) >= LONGEST:
        raise FailureError(OUT_OF_RANGE)
    return tuple(first + by * n for n in range(max(0, math.floor(Fraction(last - first, by)) + 1)))


def between(array: tuple[Any, ...], first: int, last: int | None = None) -> tuple[Any, ...]:
    """Return the elements at the positions from the first to the last, of which -1 is that at the end."""
    from_end = len(array) + 1
    low, high = (
        from_end + position if position < 0 else position
        for position in (first, len(array) if last is None else last)
    )
    return tuple(each for position, each in enumerate(array, 1) if low <= position <= high)


def shape(character: str) -> str:
    """Return what stands for a character in a mask."""
    if character.lower() != character.upper() or unicodedata.category(character) in {"Lu", "Ll"}:
        if character.isupper():
            return "X"
        if character.islower():
            return "x"
    return "n" if character.isdigit() else "x" if character.islower() else "-"


def masked(text: str, first: int = 0, last: int | None = None) -> str:
    """Return a text whose characters from one place to another are masked."""
    end = len(text) if last is None else last
    return "".join(shape(c) if first <= at < end else c for at, c in enumerate(text))


def soundex(text: str) -> str:
    """Return the American Soundex, by taking out what does not count."""
    letters = re.sub(r"[^A-Z]", "", text.upper())
    if not letters:
        return ""
    sounds = letters[0] + re.sub("[HW]", "", letters[1:])
    coded = re.sub(
        "[BCDFGJKLMNPQRSTVXZ]",
        lambda found: "01230120022455012623010202"[ord(found[0]) - 65],
        sounds,
    )
    single = re.sub(r"(\d)\1+", r"\1", coded)
    rest = re.sub(r"[^1-6]", "", single[1:])
    return (letters[0] + rest + "000")[:4]


def substring_index(text: str, separator: str, count: int) -> str:
    """Return what comes before the n-th separator, found one by one."""
    if not separator or not count:
        return ""
    if count < 0:
        return substring_index(text[::-1], separator[::-1], -count)[::-1]
    at = -len(separator)
    for _ in range(min(count, len(text) + 1)):
        at = text.find(separator, at + len(separator))
        if at < 0:
            return text
    return text[:at]


def find_in_set(wanted: str, texts: str) -> int:
    """Return the place of a text between commas."""
    if "," in wanted or not texts:
        return 0
    at = f",{texts},".find(f",{wanted},")
    return 0 if at < 0 else texts[:at].count(",") + 1


def space(count: int) -> str:
    """Return spaces."""
    if count > LONGEST:
        raise FailureError(OUT_OF_RANGE)
    return "".ljust(max(count, 0))


def xxh64(text: str) -> int:
    """Return XXH64 with the seed 0, as its specification computes it."""
    p1, p2, p3, p4, p5 = (
        *(0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9),
        *(0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5),
    )
    mask = 2**64 - 1

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) & mask

    def mixed(lane: int, value: int) -> int:
        return turned((lane + value * p2) & mask, 31) * p1 & mask

    data = text.encode()
    length, at = len(data), 0
    if length >= 32:
        lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        while at + 32 <= length:
            for i in range(4):
                word = int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little")
                lanes[i] = mixed(lanes[i], word)
            at += 32
        total = sum(turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        total &= mask
        for lane in lanes:
            total = ((total ^ mixed(0, lane)) * p1 + p4) & mask
    else:
        total = p5
    total = (total + length) & mask
    while at + 8 <= length:
        total ^= mixed(0, int.from_bytes(data[at : at + 8], "little"))
        total = (turned(total, 27) * p1 + p4) & mask
        at += 8
    if at + 4 <= length:
        total ^= int.from_bytes(data[at : at + 4], "little") * p1 & mask
        total = (turned(total, 23) * p2 + p3) & mask
        at += 4
    for byte in data[at:]:
        total ^= byte * p5 & mask
        total = turned(total, 11) * p1 & mask
    total = (total ^ total >> 33) * p2 & mask
    total = (total ^ total >> 29) * p3 & mask
    total ^= total >> 32
    return total - 2**64 if total >= 2**63 else total


def sha2(text: str, bits: int) -> str | None:
    """Return a hash of the family SHA-2."""
    hashes = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256}
    hashes |= {384: hashlib.sha384, 512: hashlib.sha512}
    return hashes[bits](text.encode()).hexdigest() if bits in hashes else None


def bits_of(value: int) -> str:
    """Return the 64 bits."""
    return "".join(str((value >> place) % 2) for place in range(63, -1, -1))


def of_bits(bits: str) -> int:
    """Return the BIGINT that 64 bits are."""
    return int(bits, 2) - (2**64 if bits[0] == "1" else 0)


def shifted_left(value: int, count: int) -> int:
    """Return the bits moved to the left."""
    by = count % 64
    return of_bits(bits_of(value)[by:] + "0" * by)


def width_bucket(value: float, low: float, high: float, count: int) -> int | None:
    """Return the bucket; the bounds may be in either order."""
    if not all(map(math.isfinite, (low, high))) or math.isnan(value) or low == high or count < 1:
        return None
    if count >= 2**31:
        raise FailureError(OUT_OF_RANGE)
    sign = 1 if low < high else -1
    if value * sign < low * sign:
        return 0
    if value * sign >= high * sign:
        return count + 1
    return math.floor(count * ((value * sign - low * sign) / (high * sign - low * sign))) + 1


def from_base(text: str, base: int) -> int | None:
    """Return the number that digits are in a base."""
    if not 2 <= base <= 36 or not re.fullmatch(r"-?[0-9A-Za-z]{1,80}", text):
        return None
    number = 0
    for digit in text.removeprefix("-").lower():
        value = "0123456789abcdefghijklmnopqrstuvwxyz".index(digit)
        if value >= base:
            return None
        number = number * base + value
    number = -number if text[0] == "-" else number
    return number if -(2**63) <= number < 2**63 and len(text) <= 80 else None


def once(elements: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return each element where it first occurs."""
    made: list[Any] = []
    for each in elements:
        if not has(made, each):
            made.append(each)
    return tuple(made)


def has(elements: Any, wanted: Any) -> bool:
    """Say whether an element is equal."""
    return any(order_key(each) == order_key(wanted) for each in elements)


def inserted(elements: Any, place: Any, element: Any) -> Any:
    """Return an array with one element more."""
    if elements is None or place is None:
        return None
    made = list(elements)
    made.insert(max(place - 1, 0), element)
    return tuple(made)


def repeated(element: Any, count: Any) -> Any:
    """Return an array of one element again and again."""
    if count is not None and count > LONGEST:
        raise FailureError(OUT_OF_RANGE)
    return None if count is None else tuple(element for _ in range(count))


def trimmed(elements: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Return an array without its last elements."""
    if count < 0 or count > len(elements):
        raise FailureError(OUT_OF_RANGE)
    return tuple(each for at, each in enumerate(elements) if at < len(elements) - count)


def url(part: str) -> Callable[[str], str | None]:
    """Return what reads a part of a URL."""
    from fsql.tests.reference.scalar_texts import parse_url

    return lambda text: parse_url(text, part)


def parameter(text: str, key: str) -> str | None:
    """Return the value of a key of the query."""
    from fsql.tests.reference.scalar_texts import parse_url

    return parse_url(text, "QUERY", key)


def port(text: str) -> int | None:
    """Return the port of a URL."""
    authority = url("AUTHORITY")(text)
    found = re.search(r":([0-9]{1,5})\Z", (authority or "").split("@")[-1])
    return int(found[1]) if found else None


def stripped_nulls(text: str) -> str | None:
    """Return a document without null values of keys, by Python's JSON."""
    try:
        document = json.loads(text, parse_constant=None)
    except ValueError:
        return None
    if isinstance(document, float):
        return text.strip() if math.isfinite(document) else None

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kept(each) for key, each in value.items() if each is not None}
        return [kept(each) for each in value] if isinstance(value, list) else value

    return json.dumps(kept(document), ensure_ascii=False, separators=(",", ":"))


def part_of_json(text: str, step: Any) -> str | None:
    """Return the value of a key of an object, or of an index from 0 of an array, by Python's JSON."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict if isinstance(step, str) else list):
            return None
        found = document[step]
    except (ValueError, LookupError):
        return None
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def keys_of_json(text: str, path: str = "$") -> tuple[str, ...] | None:
    """Return the keys of the object at a path; NULL if there is none."""
    try:
        document = at_path(json.loads(text), path)
    except ValueError:
        return None
    return tuple(document) if isinstance(document, dict) else None


def text_of_part(text: str, step: Any) -> str | None:
    """Return the same part, a string without its quotes and null as NULL."""
    found = part_of_json(text, step)
    value = None if found is None else json.loads(found)
    return value if value is None or isinstance(value, str) else found


def is_json(text: str, kind: str) -> bool:
    """Say whether a text is JSON of a kind."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    if isinstance(document, float) and not math.isfinite(document):
        return False
    found = "object" if isinstance(document, dict) else "scalar"
    return kind in {"value", "array" if isinstance(document, list) else found}


MORE_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "mask": masked,
    "mask_left": lambda a, n: masked(a, 0, max(n, 0)),
    "mask_right": lambda a, n: masked(a, len(a) - max(n, 0)),
    "mask_keep_left": lambda a, n: masked(a, max(n, 0)),
    "mask_keep_right": lambda a, n: masked(a, 0, len(a) - max(n, 0)),
    "soundex": soundex,
    "substring_index": substring_index,
    "find_in_set": find_in_set,
    "space": space,
    "casefold": lambda a: a.casefold(),
    "quote_ident": lambda a: '"' + '""'.join(a.split('"')) + '"',
    "quote_literal": lambda a: "'" + "''".join(a.split("'")) + "'",
    "sha224": lambda a: hashlib.sha224(a.encode()).hexdigest(),
    "sha384": lambda a: hashlib.sha384(a.encode()).hexdigest(),
    "sha2": sha2,
    "xxh64": xxh64,
    "url_extract_protocol": url("PROTOCOL"),
    "url_extract_host": url("HOST"),
    "url_extract_path": url("PATH"),
    "url_extract_query": url("QUERY"),
    "url_extract_fragment": url("REF"),
    "url_extract_port": port,
    "url_extract_parameter": parameter,
    "e": lambda: math.exp(1.0),
    "erf": math.erf,
    "erfc": math.erfc,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
    "shiftleft": shifted_left,
    "shiftright": lambda a, n: math.floor(Fraction(a, 2 ** (n % 64))),
    "shiftrightunsigned": lambda a, n: of_bits("0" * (n % 64) + bits_of(a)[: 64 - n % 64]),
    "getbit": lambda a, n: int(bits_of(a)[63 - n]) if 0 <= n <= 63 else None,
    "to_oct": lambda a: re.sub("^0+(?=.)", "", f"{int(bits_of(a), 2):o}"),
    "width_bucket": width_bucket,
    "from_base": from_base,
    "array_concat": lambda *a: sum(a, ()),
    "array_union": lambda a, b: once(a + b),
    "array_intersect": lambda a, b: tuple(each for each in once(a) if has(b, each)),
    "array_except": lambda a, b: tuple(each for each in once(a) if not has(b, each)),
    "trim_array": trimmed,
    "array_slice": between,
    "sequence": counted,
    "json_strip_nulls": stripped_nulls,
    "is_json": is_json,
    "json_get": part_of_json,
    "json_keys": keys_of_json,
    "json_records": records_of_json,
    "json_get_text": text_of_part,
    "json_document": lambda a: written(parsed(a)),
    "regexp_ilike": lambda a, b: re.search(b, a, re.IGNORECASE) is not None,
}
"""The functions over values that are not NULL."""


def unmapped(_operation: str | None) -> None:
    """Fail: the operation stands for no kind of change."""
    raise FailureError(NOT_CASTABLE)


def unavailable(_is_there: bool) -> None:  # noqa: FBT001
    """Fail: no row has the value that a change leaves out."""
    raise FailureError(NOT_AVAILABLE)


MORE_OF_NULL: Final[dict[str, Callable[..., Any]]] = {
    "unmapped_operation": unmapped,
    "unavailable_value": unavailable,
    "elt": lambda n, *a: a[n - 1] if n in range(1, len(a) + 1) else None,
    "field": lambda a, *b: (
        next((n for n, each in enumerate(b, 1) if a == each), 0) if a is not None else 0
    ),
    "array_append": lambda a, x: None if a is None else (*a, x),
    "array_contains": lambda a, x: None if a is None else has(a, x),
    "array_insert": inserted,
    "array_remove": lambda a, x: (
        None if a is None else tuple(each for each in a if not has((x,), each))
    ),
    "array_prepend": lambda a, x: None if a is None else (x, *a),
    "array_repeat": repeated,
    "json_object": pairs,
    "json_object_without_nulls": lambda *a: pairs(*a, nulls=False),
    "json_build_array": lambda *a: "[" + ",".join(each or "null" for each in a) + "]",
    "json_array": lambda *a: "[" + ",".join(each for each in a if each is not None) + "]",
}
"""The functions that see NULLs."""
