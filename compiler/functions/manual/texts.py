"""Texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import Entry, entry, form

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Texts"
INTRODUCTION: Final = """\
Positions and lengths count code points, from 1 unless stated otherwise.
"""

_LONG: Final = "FSQL-E502 if the result has more than 1,000,000 characters"

ENTRIES: Final[Mapping[str, Entry]] = {
    "lower": entry("In small letters, by the full mapping of Unicode.", "LOWER('ÄB') = 'äb'"),
    "upper": entry("In capitals, by the full mapping of Unicode.", "UPPER('straße') = 'STRASSE'"),
    "initcap": entry(
        "Each word with a capital and small letters; a word is a run of letters and digits.",
        "INITCAP('new YORK') = 'New York'",
    ),
    "trim": entry(
        "Without spaces (U+0020) at both ends; also `TRIM(BOTH FROM s)`.", "TRIM('  a ') = 'a'"
    ),
    "ltrim": entry(
        "Without spaces at the beginning; also `TRIM(LEADING FROM s)`.", "LTRIM(' a ') = 'a '"
    ),
    "rtrim": entry(
        "Without spaces at the end; also `TRIM(TRAILING FROM s)`.", "RTRIM(' a ') = ' a'"
    ),
    "char_length": entry("The number of code points.", "CHAR_LENGTH('é') = 1"),
    "substring": entry(
        "The characters from a position on, all or as many as given; positions below 1 count towards the length. Also `SUBSTRING(s FROM 2 FOR 3)`.",
        "SUBSTRING('abcd', 2, 2) = 'bc'",
        "SUBSTRING('abcd' FROM 3) = 'cd'",
    ),
    "concat": entry("The texts one behind the other, as `||`.", "CONCAT('a', 'b', 'c') = 'abc'"),
    "CONCAT_WS": form(
        "(STRING, STRING, ...) STRING",
        "The texts behind the first, with it between them; NULLs are left out.",
        "CONCAT_WS('-', 'a', NULL, 'b') = 'a-b'",
    ),
    "replace": entry(
        "All occurrences of a text replaced; an empty one changes nothing.",
        "REPLACE('abab', 'b', 'x') = 'axax'",
    ),
    "starts_with": entry("Whether the text begins with the other.", "STARTS_WITH('abc', 'ab')"),
    "ends_with": entry("Whether the text ends with the other.", "ENDS_WITH('abc', 'bc')"),
    "contains": entry("Whether the other occurs in the text.", "CONTAINS('abc', 'b')"),
    "split": entry(
        "The parts between separators; the separator is a literal. The parts of `''` are one empty text.",
        "SPLIT('a,b', ',') = ARRAY['a', 'b']",
    ),
    "split_index": entry(
        "A part, **from 0**; NULL if there is none. An empty separator does not separate.",
        "SPLIT_INDEX('/a?x', '?', 0) = '/a'",
        "SPLIT_INDEX('a', ',', 1) IS NULL",
    ),
    "split_part": entry(
        "A part, **from 1**, or from the end if negative; `''` if there is none. An empty separator does not separate.",
        "SPLIT_PART('a,b', ',', 2) = 'b'",
        "SPLIT_PART('a,b', ',', -1) = 'b'",
    ),
    "position": entry(
        "Where the first text begins in the second, searched from a position on; 0 if it does not occur.",
        "POSITION('b', 'abc') = 2",
        "LOCATE('a', 'aba', 2) = 3",
    ),
    "instr": entry(
        "Where the second text begins in the first; 0 if it does not occur.",
        "INSTR('abc', 'c') = 3",
    ),
    "left": entry(
        "The first n characters; of a negative n, all but the last -n.",
        "LEFT('abc', 2) = 'ab'",
        "LEFT('abc', -1) = 'ab'",
    ),
    "right": entry(
        "The last n characters; of a negative n, all but the first -n.", "RIGHT('abc', 2) = 'bc'"
    ),
    "lpad": entry(
        "Filled up at the beginning, or cut at the end, to n characters; the fill is a space unless given.",
        "LPAD('7', 3, '0') = '007'",
        fails=_LONG,
    ),
    "rpad": entry(
        "Filled up, or cut, at the end to n characters; the fill is a space unless given.",
        "RPAD('abc', 2) = 'ab'",
        fails=_LONG,
    ),
    "repeat": entry("The text n times.", "REPEAT('ab', 2) = 'abab'", fails=_LONG),
    "reverse": entry("The characters backwards.", "REVERSE('abc') = 'cba'"),
    "translate": entry(
        "Each character of the second text replaced by the one at the same place in the third, or removed.",
        "TRANSLATE('abcd', 'abc', 'xy') = 'xyd'",
    ),
    "overlay": entry(
        "The characters from a position on replaced, as many as the replacement has unless given.",
        "OVERLAY('abcdef', 'X', 2, 3) = 'aXef'",
    ),
    "ascii": entry("The code point of the first character; 0 of an empty text.", "ASCII('A') = 65"),
    "chr": entry("The character of a code point; NULL if there is none.", "CHR(233) = 'é'"),
    "levenshtein": entry(
        "The number of changes of one character between two texts.",
        "LEVENSHTEIN('kitten', 'sitting') = 3",
        fails="FSQL-E502 if the product of the lengths is above 1,000,000",
    ),
    "regexp_like": entry(
        "Whether a [regular expression](../language.md#regular-expressions) matches a part of the text.",
        "REGEXP_LIKE('GET /a', '^[A-Z]+ ')",
    ),
    "regexp_extract": entry(
        "The text of a group of the first match; of all of it unless given; NULL where there is none.",
        "REGEXP_EXTRACT('id=42;', 'id=([0-9]+)', 1) = '42'",
    ),
    "regexp_replace": entry(
        "All matches replaced; `$1` is the first group, `$0` the match, `\\$` a dollar sign.",
        "REGEXP_REPLACE('a1b2', '([0-9])', '<$1>') = 'a<1>b<2>'",
    ),
}
