"""The rows of the code table for the form of the text (E1xx): code, title, cause, fix, example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

SYNTAX_ROWS: Final[tuple[Row, ...]] = (
    (
        "E101",
        "syntax error",
        "The grammar does not allow this token here: a keyword is misspelled, missing or redundant.",
        "Correct the statement; the message lists tokens that are expected.",
        "SELCT a FROM t;",
    ),
    (
        "E102",
        "unknown character",
        "The character is valid only in strings, comments and quoted names.",
        "Remove the character, or quote the name or string that it belongs to.",
        "SELECT a @ b FROM t;",
    ),
    (
        "E103",
        "unterminated string, quoted name or comment",
        "The script ends before the closing quote or `*/`.",
        "Add the closing quote or `*/`; write a quote within a string twice.",
        "SELECT 'abc FROM t;",
    ),
    (
        "E104",
        "unbalanced bracket",
        "A bracket is not closed, not opened, or closed by a bracket of another kind.",
        "Add or remove the bracket that the message points at.",
        "SELECT (a FROM t;",
    ),
    (
        "E105",
        "incomplete statement",
        "The script ends, or a semicolon follows, before the statement is complete.",
        "Complete the statement; the message lists tokens that are expected.",
        "SELECT a FROM;",
    ),
    (
        "E106",
        "reserved word used as a name",
        "The word is a keyword of the grammar and cannot be a name without quotes.",
        'Quote the name, as in "order", or use another name.',
        "SELECT order FROM t;",
    ),
    (
        "E107",
        "script too long",
        "A script has at most 1 MiB and 100,000 tokens after parameters are replaced.",
        "Store data in files that a table reads.",
        "-- a script of 2 MiB",
    ),
    (
        "E108",
        "nested too deeply",
        "Brackets, expressions and subqueries can be nested at most 200 levels deep.",
        "Move inner queries to views or WITH.",
        "SELECT ((((… 1 …)))) FROM t;  -- 201 brackets",
    ),
    (
        "E109",
        "list too long",
        "A list has at most 10,000 items, and the types that CREATE TYPE names at most 10,000 parts in all.",
        "Store the items in a table and join it.",
        "SELECT a FROM t WHERE a IN (1, 2, …);  -- 10,001 items",
    ),
    (
        "E110",
        "invisible character",
        "Control characters, direction marks and lone surrogates can make a script misleading.",
        "Remove the character; such characters are allowed in data only.",
        "SELECT a\\u202e FROM t;",
    ),
    (
        "E111",
        "name is not normalized",
        "Names are compared by code points, and the same letters can be different code points.",
        "Write the name in Unicode normal form C, as shown in the message.",
        "SELECT cafe\\u0301 FROM t;",
    ),
    (
        "E112",
        "parameter has no value",
        "The script uses a parameter `${name}` that is not defined.",
        "Define the parameter with `-D name=value`.",
        "SELECT a FROM t LIMIT ${rows};",
    ),
    (
        "E113",
        "invalid number",
        "A number has digits, one `_` between two, one point and an exponent; a name begins with a letter.",
        "Write a space after the number, or quote the name.",
        "SELECT 1a FROM t;",
    ),
    (
        "E114",
        "trailing comma",
        "No item follows the comma.",
        "Remove the comma.",
        "SELECT a, FROM t;",
    ),
    (
        "E115",
        "comparison of a comparison",
        "`a < b < c` would compare the BOOLEAN result of `a < b` with `c`.",
        "Write `a < b AND b < c`, or use brackets to compare a BOOLEAN value.",
        "SELECT a FROM t WHERE 1 < a < 3;",
    ),
    (
        "E116",
        "EMIT after a set operation",
        "EMIT belongs to one SELECT, and a UNION has several.",
        "Write EMIT at the end of each SELECT, before ORDER BY and LIMIT.",
        "SELECT a FROM t UNION ALL SELECT a FROM t LIMIT 3 EMIT FINAL;",
    ),
    (
        "E117",
        "script is not UTF-8",
        "Scripts must be encoded in UTF-8.",
        "Convert the file, for example from Latin-1 with `iconv -f latin1 -t utf-8`.",
        "SELECT '\\xff';",
    ),
    (
        "E118",
        "hint is not supported",
        "A comment that begins with `/*+` is a hint. This one is unknown, or not allowed at its place.",
        "Remove it, or write it as the message says; write `/* … */` for a comment.",
        "SELECT a /*+ RESULT_CACHE */ FROM t;",
    ),
    (
        "W101",
        "unused parameter",
        "The parameter is defined, but `${name}` does not occur in the script outside of comments.",
        "Correct the name, or remove the definition.",
        "SELECT k FROM t WHERE n > ${least};  -- with -D leest=1 and -D least=0",
    ),
)
