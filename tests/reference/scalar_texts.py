"""The functions of texts that the engine computes value by value, in another way each."""

from __future__ import annotations

import hashlib
import re
import zlib
from base64 import decodebytes, encodebytes
from functools import cache
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Any, Final

from fsql.tests.reference.failure import NOT_CASTABLE, OUT_OF_RANGE, FailureError

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST: Final = 1_000_000
"""The most characters of a text that is filled up or repeated."""


def position(part: str, text: str, start: int = 1) -> int:
    """Return the first place from `start` on, counted from 1, at which `part` stands."""
    places = range(max(start, 1), len(text) + 2) if start >= 1 else ()
    return next((place for place in places if text[place - 1 :].startswith(part)), 0)


def bytes_written(text: str, encoding: str) -> str | None:
    """Return the octets that a text is in an encoding, as characters; None if it is not in it."""
    if encoding.lower() in {"utf8", "ascii"}:
        return text.encode(encoding, "replace").decode("latin-1")
    if encoding.lower() == "base64":
        try:
            data = decodebytes(text.encode("ascii"))
        except ValueError:
            return None
        return (
            data.decode("latin-1") if encodebytes(data).decode().replace("\n", "") == text else None
        )
    if text[:2] in {"x'", "X'"} and text[2:].endswith("'"):
        digits = text[2:-1]
    else:
        digits = text[2:] if text[:2] in {"0x", "0X"} else text
    if len(digits) % 2 or not all(each in "0123456789abcdefABCDEF" for each in digits):
        return None
    pairs = zip(digits[::2], digits[1::2], strict=True)
    return "".join(chr(int(high + low, 16)) for high, low in pairs)


def fitting(length: int) -> int:
    """Return a length that a text may have.

    Raises:
        FailureError: it is too long.
    """
    if length > LONGEST:
        raise FailureError(OUT_OF_RANGE)
    return length


def padded(text: str, length: int, fill: str, *, before: bool) -> str:
    """Return the text of that length, filled up on one side or cut at its end."""
    fitting(length)
    filling = ""
    while fill and len(text) + len(filling) < length:
        filling += fill[len(filling) % len(fill)]
    return "".join(list(filling + text if before else text + filling)[: max(length, 0)])


def repeated(text: str, times: int) -> str:
    """Return the text so many times."""
    if not text or times <= 0:
        return ""
    fitting(len(text) * times)
    return "".join(text for _ in range(times))


def left(text: str, count: int) -> str:
    """Return the first characters; all but the last -count if it is negative."""
    kept = count if count >= 0 else len(text) + count
    return "".join(character for place, character in enumerate(text) if place < kept)


def right(text: str, count: int) -> str:
    """Return the last characters; all but the first -count if it is negative."""
    return left(text[::-1], count)[::-1]


def part(text: str, separator: str, place: int) -> str:
    """Return a part, counted from 1, or from the end if negative; empty where there is none."""
    parts = dict(enumerate(text.split(separator) if separator else [text], 1))
    return parts.get(place if place > 0 else len(parts) + 1 + place if place else 0, "")


def split_index(text: str, separator: str, index: int) -> str | None:
    """Return a part, counted from 0."""
    parts = dict(enumerate(text.split(separator) if separator else [text]))
    return parts.get(index)


def translate(text: str, characters: str, by: str) -> str:
    """Return the text with characters replaced by those at the same place, or removed."""
    made = ""
    for character in text:
        place = characters.find(character)
        made += character if place < 0 else by[place : place + 1]
    return made


def initcap(text: str) -> str:
    """Return the text with each word in small letters behind a capital."""
    words = re.findall(r"[^\W_]+|[\W_]", text)
    return "".join(
        word[0].upper() + "".join(map(str.lower, word[1:])) if word[0].isalnum() else word.lower()
        for word in words
    )


def overlay(text: str, by: str, start: int, length: int | None = None) -> str:
    """Return the text in which characters from `start` on are replaced."""
    count = len(by) if length is None else max(length, 0)
    before = [character for place, character in enumerate(text, 1) if place < start]
    behind = [character for place, character in enumerate(text, 1) if place >= start + count]
    return "".join([*before, by, *behind])


def levenshtein(one: str, other: str) -> int:
    """Return the least number of changes of single characters that make the texts one."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (one[i - 1] != other[j - 1]),
        )

    return distance(len(one), len(other))


def character(code: int) -> str | None:
    """Return the character of a code point, if there is one."""
    try:
        return code.to_bytes(4, "little").decode("utf-32-le") if code else None
    except (OverflowError, UnicodeDecodeError):
        return None


_BASE64: Final = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"


def from_base64(text: str) -> str | None:
    """Return what a text in Base64 says; NULL if it is none."""
    if not re.fullmatch(_BASE64, text):
        return None
    return decoded(decodebytes(text.encode()))


def unhex(text: str) -> str | None:
    """Return what hexadecimal digits say; NULL if they are none."""
    if len(text) % 2 or not re.fullmatch(r"[0-9a-fA-F]*", text):
        return None
    return decoded(bytes(int(text[at : at + 2], 16) for at in range(0, len(text), 2)))


def octets_of_hex(text: str) -> str:
    """Return the octets that hexadecimal digits say."""
    if len(text) % 2 or not re.fullmatch(r"[0-9a-fA-F]*", text):
        raise FailureError(NOT_CASTABLE)
    return "".join(chr(int(text[at : at + 2], 16)) for at in range(0, len(text), 2))


def octets_of_base64(text: str) -> str:
    """Return the octets that a text in Base64 says."""
    if not re.fullmatch(_BASE64, text):
        raise FailureError(NOT_CASTABLE)
    return decodebytes(text.encode()).decode("latin-1")


def decoded(data: bytes) -> str | None:
    """Return the text of bytes of UTF-8; NULL if they are not."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def url_encode(text: str) -> str:
    """Return the text as a form sends it."""
    kept = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-*_"
    return "".join(
        chr(byte) if byte in kept else "+" if byte == 0x20 else f"%{byte:02X}"
        for byte in text.encode()
    )


def url_decode(text: str) -> str | None:
    """Return what a form has sent; NULL if it is no text."""
    data = re.sub(
        rb"%([0-9a-fA-F]{2})",
        lambda found: bytes([int(found[1], 16)]),
        text.replace("+", " ").encode(),
    )
    return decoded(data)


def parse_url(url: str, wanted: str, key: str | None = None) -> str | None:
    """Return a part of a URL, taken off from its end."""
    parts: dict[str, str | None] = dict.fromkeys(("QUERY", "REF", "PROTOCOL", "AUTHORITY"))
    rest, hash_, after = url.partition("#")
    parts["REF"] = after if hash_ else None
    head, mark, query = rest.partition("?")
    parts["QUERY"] = query if mark else None
    protocol, colon, behind = head.partition(":")
    if colon and protocol and "/" not in protocol:
        parts["PROTOCOL"], head = protocol, behind
    if head.startswith("//"):
        authority, slash, path = head[2:].partition("/")
        parts["AUTHORITY"], head = authority, slash + path
    user, at, place = (parts["AUTHORITY"] or "").rpartition("@")
    parts["USERINFO"] = user if at else None
    port = re.search(r":\d*$", place) if "\n" not in place else None
    parts["HOST"] = (place[: port.start()] if port else place) or None
    parts["PATH"] = head or None
    parts["FILE"] = head + mark + query
    value = parts[wanted]
    if key is None or value is None:
        return value
    if wanted != "QUERY":
        return None
    named = [pair.split("=", 1) for pair in value.split("&") if "=" in pair]
    return next((text for name, text in named if name == key), None)


def like(value: str, pattern: str) -> bool:
    r"""Match with `%`, `_` and the escape `\`: a table of which prefixes match."""
    parts: list[tuple[str, bool]] = []
    escaped = False
    for character in pattern:
        if character == "\\" and not escaped:
            escaped = True
            continue
        parts.append((character, not escaped and character in "%_"))
        escaped = False
    if escaped:
        parts.append(("\\", False))
    matches = [True] + [False] * len(value)
    for part, wild in parts:
        if wild and part == "%":
            matches = list(accumulate(matches, or_))
        else:
            fits = [wild or part == character for character in value]
            matches = [False, *(before and fit for before, fit in zip(matches, fits, strict=False))]
    return matches[-1]


def stripped(text: str, characters: str) -> str:
    """Return a text from its first character on that is none of some."""
    return next((text[at:] for at, each in enumerate(text) if each not in characters), "")


def regexp_like(text: str, pattern: str) -> bool:
    """Return whether a pattern matches; an invalid one does not."""
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    """Return a group of the first match."""
    try:
        found = re.search(pattern, text)
    except re.error:
        return None
    if found is None or not 0 <= group <= (found.re.groups):
        return None
    return found[group]


def regexp_replace(text: str, pattern: str, by: str, flags: str = "g") -> str:
    """Return the text with all matches replaced, or by the flags the first one."""
    made, at = "", 0
    ignored = re.IGNORECASE if [each for each in flags if each in "ic"][-1:] == ["i"] else 0
    for found in [*re.finditer(pattern, text, ignored)][: None if "g" in flags else 1]:
        made += text[at : found.start()] + filled(by, found)
        at = found.end()
    return made + text[at:]


def filled(by: str, found: re.Match[str]) -> str:
    """Return a replacement with the groups that it refers to."""
    made, at = "", 0
    while at < len(by):
        sign, following = by[at], by[at + 1 : at + 2]
        number = "0" <= following <= "9" and following != ""
        if sign in "\\$" and number:
            made += (found[int(following)] or "") if int(following) <= found.re.groups else ""
        elif sign == "\\" and following:
            made += following
        else:
            made += sign
            at -= 1
        at += 2
    return made


TEXT_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "like": like,
    "trim": lambda a, b=" ": stripped(stripped(a, b)[::-1], b)[::-1],
    "ltrim": lambda a, b=" ": stripped(a, b),
    "rtrim": lambda a, b=" ": stripped(a[::-1], b)[::-1],
    "position": position,
    "instr": lambda a, b: position(b, a),
    "left": left,
    "right": right,
    "lpad": lambda a, b, c=" ": padded(a, b, c, before=True),
    "rpad": lambda a, b, c=" ": padded(a, b, c, before=False),
    "repeat": repeated,
    "reverse": lambda a: "".join(reversed(a)),
    "initcap": initcap,
    "overlay": overlay,
    "split_part": part,
    "split_index": split_index,
    "translate": translate,
    "ends_with": lambda a, b: a[max(len(a) - len(b), 0) :] == b,
    "contains": lambda a, b: a.find(b) >= 0,
    "ascii": lambda a: int.from_bytes(a[:1].encode("utf-32-be")),
    "chr": character,
    "levenshtein": levenshtein,
    "md5": lambda a: hashlib.md5(a.encode()).hexdigest(),
    "sha1": lambda a: hashlib.sha1(a.encode()).hexdigest(),
    "sha256": lambda a: hashlib.sha256(a.encode()).hexdigest(),
    "sha512": lambda a: hashlib.sha512(a.encode()).hexdigest(),
    "crc32": lambda a: zlib.crc32(a.encode()),
    "to_base64": lambda a: encodebytes(a.encode()).decode().replace("\n", ""),
    "from_base64": from_base64,
    "octet_length": lambda a: len(a.encode()),
    "encode": lambda a, b: a.encode(b, "replace").decode("latin-1"),
    "to_bytes": bytes_written,
    "hex": lambda a: "".join(f"{byte:02X}" for byte in a.encode()),
    "unhex": unhex,
    "octets_of_hex": octets_of_hex,
    "octets_of_base64": octets_of_base64,
    "url_encode": url_encode,
    "url_decode": url_decode,
    "parse_url": parse_url,
    "regexp_like": regexp_like,
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
}
"""The functions of texts, by name."""
