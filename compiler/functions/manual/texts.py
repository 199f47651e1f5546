"""Texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import ManualEntry, entry, form

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Texts"
INTRODUCTION: Final = """\
Positions and lengths count code points, from 1 unless stated otherwise.
"""

_LONG: Final = "FSQL-E502 if the result has more than 1,000,000 characters"

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "lower": entry("The text in lower case, by the full mapping of Unicode.", "LOWER('ÄB') = 'äb'"),
    "upper": entry(
        "The text in upper case, by the full mapping of Unicode.", "UPPER('straße') = 'STRASSE'"
    ),
    "initcap": entry(
        "The text with the first letter of each word in upper case and the others in lower case; a word is a run of letters and digits.",
        "INITCAP('new YORK') = 'New York'",
    ),
    "trim": entry(
        "The text without spaces (U+0020), or without any of the given characters, at both ends; also `TRIM(BOTH 'x' FROM s)`.",
        "TRIM('  a ') = 'a'",
        "TRIM('xayx', 'xy') = 'a'",
        "TRIM(LEADING 'x' FROM 'xax') = 'ax'",
    ),
    "ltrim": entry(
        "The text without spaces, or without any of the given characters, at the beginning; also `TRIM(LEADING FROM s)`.",
        "LTRIM(' a ') = 'a '",
    ),
    "rtrim": entry(
        "The text without spaces, or without any of the given characters, at the end; also `TRIM(TRAILING FROM s)`.",
        "RTRIM(' a ') = ' a'",
    ),
    "char_length": entry("The number of code points.", "CHAR_LENGTH('é') = 1"),
    "substring": entry(
        "The characters from a position on: all, or as many as the third argument; positions below 1 count towards the length, and a negative constant is refused, since others count it from the end: write `RIGHT`. Also `SUBSTRING(s FROM 2 FOR 3)`.",
        "SUBSTRING('abcd', 2, 2) = 'bc'",
        "SUBSTRING('abcd' FROM 3) = 'cd'",
    ),
    "concat": entry(
        "The concatenation of the texts, as by `||`. Other values than BYTES, ARRAY, ROW and MAP are cast to STRING.",
        "CONCAT('a', 'b', 'c') = 'abc'",
        "CONCAT('a', 1, TRUE) = 'a1true'",
        "'a' || 1 + 2 = 'a3'",
    ),
    "CONCAT_WS": form(
        "(STRING, STRING, ...) STRING",
        "The texts after the first, concatenated with the first as separator; NULLs are skipped. Other values are cast to STRING as by CONCAT.",
        "CONCAT_WS('-', 'a', NULL, 'b') = 'a-b'",
        "CONCAT_WS('-', 2026, 5) = '2026-5'",
    ),
    "replace": entry(
        "The text with all occurrences of the second argument replaced by the third; an empty second argument changes nothing.",
        "REPLACE('abab', 'b', 'x') = 'axax'",
    ),
    "starts_with": entry("Whether the text begins with the other.", "STARTS_WITH('abc', 'ab')"),
    "ends_with": entry("Whether the text ends with the other.", "ENDS_WITH('abc', 'bc')"),
    "contains": entry("Whether the text contains the other.", "CONTAINS('abc', 'b')"),
    "split": entry(
        "The parts between separators; the separator is a literal, and no regular expression. The parts of `''` are one empty text, of STRING_TO_ARRAY none, as in PostgreSQL.",
        "SPLIT('a,b', ',') = ARRAY['a', 'b']",
        "CARDINALITY(STRING_TO_ARRAY('', ',')) = 0",
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
        "The position at which the first text occurs in the second, searched from a position on; 0 if it does not occur.",
        "POSITION('b', 'abc') = 2",
        "LOCATE('a', 'aba', 2) = 3",
    ),
    "instr": entry(
        "The position at which the second text occurs in the first, searched from a position on that is a number from 1, `INSTR(s, part, 2)`; 0 if it does not occur.",
        "INSTR('abc', 'c') = 3",
        "INSTR('abab', 'a', 2) = 3",
    ),
    "left": entry(
        "The first n characters; for a negative n, all but the last -n.",
        "LEFT('abc', 2) = 'ab'",
        "LEFT('abc', -1) = 'ab'",
    ),
    "right": entry(
        "The last n characters; for a negative n, all but the first -n.", "RIGHT('abc', 2) = 'bc'"
    ),
    "lpad": entry(
        "The text padded at the beginning, or truncated at the end, to n characters; padded with spaces by default.",
        "LPAD('7', 3, '0') = '007'",
        fails=_LONG,
    ),
    "rpad": entry(
        "The text padded or truncated at the end to n characters; padded with spaces by default.",
        "RPAD('abc', 2) = 'ab'",
        fails=_LONG,
    ),
    "repeat": entry("The text n times.", "REPEAT('ab', 2) = 'abab'", fails=_LONG),
    "reverse": entry("The characters in reverse order.", "REVERSE('abc') = 'cba'"),
    "translate": entry(
        "The text with each character of the second argument replaced by the one at the same position in the third, or removed if there is none.",
        "TRANSLATE('abcd', 'abc', 'xy') = 'xyd'",
    ),
    "overlay": entry(
        "The text with characters from a position on replaced; by default, as many as the replacement has.",
        "OVERLAY('abcdef', 'X', 2, 3) = 'aXef'",
    ),
    "ascii": entry(
        "The code point of the first character; 0 for an empty text.", "ASCII('A') = 65"
    ),
    "chr": entry("The character of a code point; NULL if there is none.", "CHR(233) = 'é'"),
    "levenshtein": entry(
        "The Levenshtein distance: the number of single-character changes between two texts.",
        "LEVENSHTEIN('kitten', 'sitting') = 3",
        fails="FSQL-E502 if the product of the lengths is above 1,000,000",
    ),
    "regexp_like": entry(
        "Whether a [regular expression](../language.md#regular-expressions) matches a part of the text; FALSE for an invalid pattern of a column.",
        "REGEXP_LIKE('GET /a', '^[A-Z]+ ')",
    ),
    "regexp_ilike": entry(
        "As `REGEXP_LIKE`, without regard to case. `s ~ 'a'` is `REGEXP_LIKE`, `s ~* 'a'` is `REGEXP_ILIKE`, and `!~` and `!~*` are their negations.",
        "REGEXP_ILIKE('GET /a', '^get')",
        "'abc' ~ 'b.'",
        "'abc' !~ 'B'",
        "'abc' ~* 'B'",
    ),
    "similar_to": entry(
        "Whether the whole text matches a pattern of SQL: `%` and `_` as in LIKE, and `|`, `*`, `+`, `?`, `{2}`, `(…)` and `[…]` as in a regular expression; a backslash, or the character after ESCAPE, makes the next character literal. Also `s SIMILAR TO 'pattern'`.",
        "'abc' SIMILAR TO '(a|b)%'",
        "'a_c' SIMILAR TO 'a!_(b|c)' ESCAPE '!'",
        "'abc' NOT SIMILAR TO 'a'",
        "SIMILAR_TO('aab', 'a+b')",
    ),
    "regexp_extract": entry(
        "The text of a group of the first match, or of the whole match if no group is given; NULL if there is none, and for an invalid pattern of a column.",
        "REGEXP_EXTRACT('id=42;', 'id=([0-9]+)', 1) = '42'",
    ),
    "regexp_replace": entry(
        "The text with all matches replaced; in the replacement, `$1` is the first group, `$0` the match, and `\\$` a dollar sign. With flags, a constant, as in PostgreSQL: only the first match is replaced unless they have `g`; `i` ignores case.",
        "REGEXP_REPLACE('a1b2', '([0-9])', '<$1>') = 'a<1>b<2>'",
        "REGEXP_REPLACE('a1A2', 'a', 'x', 'i') = 'x1A2'",
        "REGEXP_REPLACE('a1A2', 'a', 'x', 'gi') = 'x1x2'",
    ),
    "regexp_substr": entry(
        "The text of the first match; NULL if there is none, and for an invalid pattern of a column.",
        "REGEXP_SUBSTR('id=42', '[0-9]+') = '42'",
    ),
    "regexp_count": entry("The number of matches.", "REGEXP_COUNT('a1b22', '[0-9]+') = 2"),
    "regexp_instr": entry(
        "The position of the first match; 0 if there is none.", "REGEXP_INSTR('abc', 'c') = 3"
    ),
    "regexp_full_match": entry(
        "Whether the expression matches the whole text.",
        "REGEXP_FULL_MATCH('abc', 'a.c')",
        "NOT REGEXP_FULL_MATCH('abcd', 'a.c')",
    ),
    "regexp_extract_all": entry(
        "The texts of a group of all matches; `''` for a group that did not participate. The group must be given, since its default differs between dialects; 0 is the whole match. NULL for an invalid pattern of a column.",
        "REGEXP_EXTRACT_ALL('a1b22', '[0-9]+', 0) = ARRAY['1', '22']",
    ),
    "REGEXP_MATCH": form(
        "(STRING, STRING) ARRAY<STRING>; (STRING, STRING, STRING) ARRAY<STRING>",
        "The groups of the first match, or the whole match if the pattern has no groups; NULL if there is none. The flag `i` ignores case. Pattern and flags are constants.",
        "REGEXP_MATCH('a1b22', '([a-z])([0-9])') = ARRAY['a', '1']",
        "(REGEXP_MATCH('order 17', '[0-9]+'))[1] = '17'",
        "REGEXP_MATCH('abc', 'B.', 'i') = ARRAY['bc']",
        "REGEXP_MATCH('abc', 'x') IS NULL",
    ),
    "regexp_split_to_array": entry(
        "The parts between matches that are not empty.",
        "REGEXP_SPLIT_TO_ARRAY('a1b22c', '[0-9]+') = ARRAY['a', 'b', 'c']",
    ),
    "regexp_escape": entry(
        "The text with a backslash before each special character, so that a regular expression matches it literally.",
        "REGEXP_ESCAPE('a.b') = 'a\\.b'",
    ),
    "octet_length": entry(
        "The number of bytes of the text in UTF-8, or of BYTES.",
        "OCTET_LENGTH('é') = 2",
        "OCTET_LENGTH(X'00ff') = 2",
    ),
    "bit_length": entry("The number of bits of the text in UTF-8.", "BIT_LENGTH('é') = 16"),
    "substring_index": entry(
        "The part before the n-th separator; for a negative n, the part after the n-th from the end.",
        "SUBSTRING_INDEX('a.b.c', '.', 2) = 'a.b'",
        "SUBSTRING_INDEX('a.b.c', '.', -1) = 'c'",
    ),
    "find_in_set": entry(
        "The position, from 1, of a text in a comma-separated list; 0 if it does not occur.",
        "FIND_IN_SET('b', 'a,b') = 2",
    ),
    "elt": entry(
        "The n-th of the texts that follow n; NULL if there is none.", "ELT(2, 'a', 'b') = 'b'"
    ),
    "field": entry(
        "The position, from 1, of the first text among the others; 0 if it does not occur, or is NULL.",
        "FIELD('b', 'a', 'b') = 2",
    ),
    "space": entry("n spaces.", "SPACE(2) = '  '", fails=_LONG),
    "mask": entry(
        "The text with upper case letters, lower case letters and digits replaced by `X`, `x` and `n`, and all others by `-`.",
        "MASK('Ab-12') = 'Xx-nn'",
    ),
    "mask_left": entry(
        "The text with the first n characters masked.", "MASK_LEFT('abc12', 2) = 'xxc12'"
    ),
    "mask_right": entry(
        "The text with the last n characters masked.", "MASK_RIGHT('abc12', 2) = 'abcnn'"
    ),
    "mask_keep_left": entry(
        "The text with all but the first n characters masked.",
        "MASK_KEEP_LEFT('abc12', 2) = 'abxnn'",
    ),
    "mask_keep_right": entry(
        "The text with all but the last n characters masked.",
        "MASK_KEEP_RIGHT('abc12', 2) = 'xxx12'",
    ),
    "printf": form(
        "(STRING, any, ...) STRING",
        "A text formatted by a pattern, which is a literal: `%s` is a value of any type as CAST to STRING writes it, `%d` an integer, `%f` a number with 6 digits after the point, or `%.2f` with 2, rounded half away from zero; `%%` is `%`. A number before the letter is the minimum width; the flag `-` aligns the value to the left, `0` fills with zeros, `+` shows the sign, and `,` groups digits. NULL is written `null`, as in Flink.",
        "PRINTF('%s has %d of %.1f%%', 'ann', 3, 12.25) = 'ann has 3 of 12.3%'",
        "PRINTF('[%5d|%-5d|%05d|%+d]', 42, 42, 42, 42) = '[   42|42   |00042|+42]'",
        "PRINTF('%,d %s', 1234567, NULL) = '1,234,567 null'",
    ),
    "is_alpha": entry(
        "Whether the text has letters only, and at least one; FALSE for NULL.",
        "IS_ALPHA('aé')",
        "NOT IS_ALPHA('a1')",
    ),
    "is_digit": entry(
        "Whether the text has decimal digits only, and at least one; FALSE for NULL.",
        "IS_DIGIT('012')",
        "NOT IS_DIGIT('')",
    ),
    "is_decimal": entry(
        "Whether the text is a number: digits, with an optional sign, point and exponent; FALSE for NULL.",
        "IS_DECIMAL('-1.5e3')",
        "NOT IS_DECIMAL('1,5')",
    ),
    "soundex": entry(
        "The American Soundex code of the ASCII letters; `''` if it has none. H and W do not separate letters of the same sound.",
        "SOUNDEX('Robert') = 'R163'",
        "SOUNDEX('Ashcraft') = 'A261'",
    ),
    "hamming": entry(
        "The Hamming distance: the number of positions at which two texts of equal length differ; NULL if their lengths differ.",
        "HAMMING('abc', 'abd') = 1",
    ),
    "jaro_similarity": entry(
        "The Jaro similarity, from 0 to 1.",
        "JARO_SIMILARITY('abc', 'abc') = 1",
        fails="FSQL-E502 if the product of the lengths is above 1,000,000",
    ),
    "jaro_winkler_similarity": entry(
        "The Jaro-Winkler similarity, from 0 to 1: greater if the texts begin alike.",
        "JARO_WINKLER_SIMILARITY('abc', 'xyz') = 0",
        fails="FSQL-E502 if the product of the lengths is above 1,000,000",
    ),
    "normalize": entry(
        "The text in a normal form of Unicode: NFC by default, NFD, NFKC or NFKD, a literal or a bare word.",
        "CHAR_LENGTH(NORMALIZE('é', NFD)) = 2",
    ),
    "strip_accents": entry("The text without accents.", "STRIP_ACCENTS('é') = 'e'"),
    "casefold": entry(
        "The text by the full case folding of Unicode, for comparisons without regard to case.",
        "CASEFOLD('Straße') = 'strasse'",
    ),
    "quote_literal": entry(
        "The text in single quotes, as an SQL literal.", "QUOTE_LITERAL('a') = '''a'''"
    ),
    "quote_ident": entry(
        "The text in double quotes, as an SQL name.", "QUOTE_IDENT('a') = '\"a\"'"
    ),
}
