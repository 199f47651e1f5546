"""Text to tokens: names, numbers, strings and signs, with their spans.

A token of letters is a WORD: whether it is a keyword depends on its context (`keywords`).  Errors that do not
depend on the grammar are found here: characters that are not allowed in a script, and strings and comments
that are not closed.

Control characters, lone surrogates and marks that change the direction of text are refused everywhere,
because they can make a script misleading.  Other invisible characters are only refused in names; strings may
contain them.  Names are in Unicode normal form C.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.parser.brackets import check_brackets
from fsql.compiler.parser.parse_table import END, parse_table
from fsql.compiler.parser.type_ends import split_type_ends
from fsql.compiler.text.limits import TOKENS_MAX
from fsql.compiler.text.source import is_visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.text.parameters import ExpandedText


class Token(NamedTuple):
    """A piece of the expanded text, `[start, end)`.

    `kind` is WORD, QUOTED_NAME, NUMBER, STRING, OCTETS, END, or the kind of a sign in the parse table.
    `text` has no quotes; a name or string in quotes is unescaped.
    """

    kind: str
    text: str
    start: int
    end: int


_NAME_CHARACTER: Final = r"0-9A-Za-z_\x80-\U0010ffff"
_DIGITS: Final = r"[0-9](?:_?[0-9])*+"
_TEXT: Final = re.compile(
    rf"""(?sx)
      (?P<space> [ \t\r\n\f]++ | --[^\r\n]*+ | /\*(?!\+).*?\*/ )
    | (?P<based> 0(?: [xX][0-9A-Fa-f_]++ | [oO][0-7_]++ | [bB][01_]++ ) )
    | (?P<NUMBER> (?: {_DIGITS} (?:\.(?:{_DIGITS})?)? | \.{_DIGITS} ) (?:[eE][+-]?{_DIGITS})? )
    | (?P<OCTETS> [xX]'[^']*+' )
    | (?P<ESCAPES> [eE]' (?: [^'\\]++ | \\. | '' )*+ ' )
    | (?P<WORD> [{_NAME_CHARACTER}]++ )
    | (?P<STRING> '[^']*+(?:''[^']*+)*+' )
    | (?P<QUOTED_NAME> "[^"]*+(?:""[^"]*+)*+" | `[^`]*+(?:``[^`]*+)*+` )
    | (?P<hint> /\*\+ (?=.*?\*/) )
    | (?P<open> /\* | ['"`] )
    """
)
_BASED_DIGITS_MAX: Final = 200
"""More than those of any number in base 2."""
_ESCAPE: Final = re.compile(
    r"(?s)\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[uU])|(.))|''"
)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_AFTER_NUMBER: Final = re.compile(rf"[{_NAME_CHARACTER}.]+")
_NEVER: Final = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_SETTING: Final = re.compile(r"(?i)\bSET\s+[^\s=;]+\s*=\s*\Z")
"""What is before the value of a setting."""

_LOOKALIKES: Final = {
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u2013": "-",
    "\u2014": "-", "\u2212": "-", "\uff0c": ",", "\uff1b": ";", "\uff08": "(", "\uff09": ")",
    "\u00b4": "'", "\u00d7": "*",
}  # fmt: skip
"""Characters of word processors, and their equivalents in SQL."""

_OPENS: Final = {
    "/*": ("comment", "*/"),
    "'": ("string", "'"),
    '"': ("quoted name", '"'),
    "`": ("quoted name", "`"),
}


def tokenize(text: ExpandedText) -> list[Token]:
    """Return the tokens of `text` and the END after them.

    Raises:
        FsqlError: E102, E103, E104, E107, E108, E110, E111 or E113, whichever is first.
    """
    if hidden := _NEVER.search(text.text):
        raise _invisible_character(text, hidden.start())
    found: list[Token] = []
    for token in _scan(text):
        found.append(token)
        if len(found) > TOKENS_MAX:
            message = f"the script has more than {TOKENS_MAX:,} tokens"
            raise text.error(Diagnostic("E107", message))
    check_brackets(text, found)
    return split_type_ends(found)


def _scan(text: ExpandedText) -> Iterator[Token]:
    string = text.text
    offset = end = int(string.startswith("\ufeff"))  # a byte order mark
    in_hint = False
    before, maps = "", 0
    while offset < len(string):
        match = _TEXT.match(string, offset)
        if in_hint and string.startswith("*/", offset):
            token, in_hint = Token("HINT_END", "*/", offset, offset + 2), False
        elif maps and string[offset] == ":" and not string.startswith(("::", ":="), offset):
            token = Token("_ENTRY_COLON", ":", offset, offset + 1)
        elif match is None:
            token = _scan_sign(text, offset)
            # MAP {'a': 1}, where a colon is no error; maps may be values of maps.
            maps += token.text == "{" and before == "MAP"
            maps -= token.text == "}" and maps > 0
        elif match.lastgroup == "hint":
            token, in_hint = Token("HINT", match[0], offset, match.end()), True
        elif match.lastgroup == "space":
            offset = match.end()
            continue
        else:
            token = _make_token(text, match)
        yield token
        before = token.text.upper() if token.kind == "WORD" else ""
        offset = end = token.end
    yield Token(END, "", end, end)  # after the last token, not on the last line


def _scan_sign(text: ExpandedText, offset: int) -> Token:
    signs = parse_table().signs
    for length in (3, 2, 1):
        sign = text.text[offset : offset + length]
        if sign in signs and sign != "*/":
            return Token(signs[sign], sign, offset, offset + len(sign))
    raise _unknown_character(text, offset)


def _make_token(text: ExpandedText, match: re.Match[str]) -> Token:
    kind, content, (start, end) = match.lastgroup or "", match[0], match.span()
    if kind == "open":
        raise _unclosed_error(text, content, start)
    if kind in {"NUMBER", "based"}:
        after = _AFTER_NUMBER.match(text.text, end)
        digits = content[2:] if kind == "based" else content
        unclear = "__" in digits or digits.endswith("_")
        if after or unclear or (kind == "based" and len(digits) > _BASED_DIGITS_MAX):
            raise _not_a_number(text, start, after.end() if after else end)
        # 0xff is 255, and 1_000 is 1000.
        content = str(int(content, 0)) if kind == "based" else content.replace("_", "")
        kind = "NUMBER"
    if kind in {"STRING", "QUOTED_NAME"}:
        quote = content[0]
        content = content[1:-1].replace(quote * 2, quote)
    if kind == "OCTETS":
        content = content[2:-1]
    if kind == "ESCAPES":
        kind, content = "STRING", _unescape(text, content, start, end)
    if kind == "QUOTED_NAME" or (kind == "WORD" and not content.isascii()):
        _check_name(text, content, start, end, quoted=kind == "QUOTED_NAME")
    return Token(kind, content, start, end)


def _unescape(text: ExpandedText, written: str, start: int, end: int) -> str:
    r"""Return the text of `E'…'`: `\n`, `\x41`, `\101`, `\u00e9`, and `\\`.

    Octal and hexadecimal numbers are octets of UTF-8.
    """

    def octets(found: re.Match[str]) -> bytes:
        octal, hexadecimal, point, other = found.groups()
        if octal or hexadecimal:
            return bytes([int(octal, 8) & 0xFF if octal else int(hexadecimal, 16)])
        if point:
            return chr(int(point[1:], 16)).encode()
        return (_ESCAPED.get(other, other) if other else found[0][0]).encode()

    made, done = bytearray(), 2
    try:
        for found in _ESCAPE.finditer(written, 2, len(written) - 1):
            made += written[done : found.start()].encode() + octets(found)
            done = found.end()
        content = (made + written[done:-1].encode()).decode()
    except (OverflowError, ValueError):
        content = "\0"
    if "\0" in content:
        label = Label(text.span(start, end), "not the UTF-8 of a text without U+0000")
        message = "the escapes of the string are invalid"
        help_ = r"write a character as \u00e9 or \U0001f600, and a backslash as \\"
        raise text.error(Diagnostic("E101", message, label, helps=(help_,)))
    return content


def _check_name(text: ExpandedText, name: str, start: int, end: int, *, quoted: bool) -> None:
    """Check that `name`, which is written at `[start, end)`, is visible and in normal form C."""
    for offset in range(start, end):
        character = text.text[offset]
        if character in _LOOKALIKES and not quoted:
            raise _unknown_character(text, offset)
        if not is_visible(character):
            raise _invisible_character(text, offset)
        if not quoted and not f"a{unicodedata.normalize('NFC', character)}".isidentifier():
            raise _unknown_character(text, offset)
    span = text.span(start, end)
    if not name:
        label = Label(span, "nothing between the quotes")
        raise text.error(Diagnostic("E101", "a name must have at least one character", label))
    normal = unicodedata.normalize("NFC", name)
    if normal != name:
        label = Label(span, f"{len(name)} code points; in normal form C {len(normal)}")
        help_ = f'write it in normal form C: "{normal}"'
        message = f'the name "{name}" is not in Unicode normal form C'
        raise text.error(Diagnostic("E111", message, label, helps=(help_,)))


def _invisible_character(text: ExpandedText, offset: int) -> FsqlError:
    character = text.text[offset]
    shown = f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
    label = Label(text.span(offset, offset + 1), shown)
    return text.error(Diagnostic("E110", f"the script has an invisible character: {shown}", label))


def _unknown_character(text: ExpandedText, offset: int) -> FsqlError:
    from fsql.compiler.dialects.advice.syntax import sign_help

    character = text.text[offset]
    helps = []
    if meant := _LOOKALIKES.get(character):
        name = unicodedata.name(character).lower().replace("-", " ")
        helps.append(f"it is a {name}; write {meant if meant != ' ' else 'a plain space'} instead")
    elif help_ := sign_help(text.text, offset):
        helps.append(help_)
    label = Label(text.span(offset, offset + 1), "not valid in SQL")
    return text.error(
        Diagnostic("E102", f'unknown character "{character}"', label, helps=tuple(helps))
    )


def _unclosed_error(text: ExpandedText, opening: str, start: int) -> FsqlError:
    what, closing = _OPENS[opening]
    label = Label(text.span(start, start + len(opening)), "opened here")
    message = f"the {what} is not closed before the script ends"
    return text.error(Diagnostic("E103", message, label, helps=(f"close it with {closing}",)))


def _not_a_number(text: ExpandedText, start: int, end: int) -> FsqlError:
    shown = text.text[start:end]
    label = Label(text.span(start, end), "not a number and not a name")
    named = f"_{shown}".isidentifier()
    helps = (f'to use it as a name, quote it: "{shown}"',) if named else ()
    if _SETTING.search(text.text, 0, start):
        helps = (f"write key and value in single quotes: SET 'key' = '{shown}'",)
    return text.error(Diagnostic("E113", f'the number "{shown}" is invalid', label, helps=helps))
