"""The rows of the code table for the form of the text (E1xx): code, title, cause, fix, example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

SYNTAX_ROWS: Final[tuple[Row, ...]] = (
    (
        "E101",
        "the text does not go on like this",
        "At this place the grammar allows something else: a word is misspelt, missing or too many.",
        "Compare with what is expected there; the message names it.",
        "SELCT a FROM t;",
    ),
    (
        "E102",
        "unknown character",
        "The character has no meaning in SQL outside of strings, comments and quoted names.",
        "Remove it, or quote the name or string that it belongs to.",
        "SELECT a ? b FROM t;",
    ),
    (
        "E103",
        "string, quoted name or comment not closed",
        "The quote or `/*` that opens it has no counterpart before the text ends.",
        "Close it; a quote inside of a string is written twice.",
        "SELECT 'abc FROM t;",
    ),
    (
        "E104",
        "bracket without counterpart",
        "A bracket is opened and not closed, closed and not opened, or closed by one of another kind.",
        "Add or remove the bracket that the message points at.",
        "SELECT (a FROM t;",
    ),
    (
        "E105",
        "statement not finished",
        "The text ends, or a semicolon comes, where the statement must go on.",
        "Write the rest of the statement; the message says what can follow.",
        "SELECT a FROM;",
    ),
    (
        "E106",
        "reserved word used as a name",
        "The word begins a clause, so it cannot name a table or column as it is.",
        'Quote it, as in "order", or choose another name.',
        "SELECT order FROM t;",
    ),
    (
        "E107",
        "text too long",
        "A script, with its parameters put in, has at most 1 MiB and 100,000 words and signs.",
        "Keep data in a table that a connector reads, not in the script.",
        "-- a script of 2 MiB",
    ),
    (
        "E108",
        "nested too deeply",
        "Brackets, expressions and subqueries nest at most 200 deep.",
        "Name the inner parts with views or WITH.",
        "SELECT ((((… 1 …)))) FROM t;  -- 201 brackets",
    ),
    (
        "E109",
        "list too long",
        "A list in a script has at most 10,000 items.",
        "Put the items into a table and join with it.",
        "SELECT a FROM t WHERE a IN (1, 2, …);  -- 10,001 items",
    ),
    (
        "E110",
        "character that cannot be seen",
        "It makes a script look like another than it is: a control or direction mark, or half a character.",
        "Remove the character; in data they are allowed.",
        "SELECT a\\u202e FROM t;",
    ),
    (
        "E111",
        "name not in normal form",
        "The same letters can be written as different code points; names are only equal if those are.",
        "Write the name in Unicode normal form C, as the message shows it.",
        "SELECT cafe\\u0301 FROM t;",
    ),
    (
        "E112",
        "parameter not given",
        "The script names a parameter `${name}` that has no value.",
        "Give it a value: `-D name=value`.",
        "SELECT a FROM t LIMIT ${rows};",
    ),
    (
        "E113",
        "number not well-formed",
        "A number is digits, at most one point and an exponent; a name cannot begin with a digit.",
        "Separate number and name, or quote the name.",
        "SELECT 1a FROM t;",
    ),
    (
        "E114",
        "trailing comma",
        "The comma announces another item and none follows.",
        "Remove the comma.",
        "SELECT a, FROM t;",
    ),
    (
        "E115",
        "comparisons in a chain",
        "`a < b < c` would compare a truth value with c, which is hardly ever meant.",
        "Write `a < b AND b < c`, or put brackets where a truth value is meant.",
        "SELECT a FROM t WHERE 1 < a < 3;",
    ),
    (
        "E116",
        "EMIT that belongs to no SELECT",
        "EMIT says when the SELECT that it ends releases its rows; a UNION has several.",
        "Write EMIT at the end of each SELECT, before ORDER BY and LIMIT of the whole.",
        "SELECT a FROM t UNION ALL SELECT a FROM t LIMIT 3 EMIT FINAL;",
    ),
    (
        "E117",
        "script is not UTF-8",
        "The bytes of a script are UTF-8; these were written in another encoding.",
        "Convert the file: `iconv -f latin1 -t utf-8`, if it was written in Latin-1.",
        "SELECT '\\xff';",
    ),
    (
        "E118",
        "hint is not supported",
        "A comment that begins with `/*+` is a hint in other systems. It would change nothing here.",
        "Remove it, or write `/* … */` for a comment.",
        "SELECT /*+ STATE_TTL('t' = '1d') */ a FROM t;",
    ),
    (
        "W101",
        "parameter that is not used",
        "A value is given for a name that does not come as `${name}` in the script, comments apart.",
        "Correct the name, or leave the value out.",
        "SELECT k FROM t WHERE n > ${least};  -- with -D leest=1 and -D least=0",
    ),
)
