"""Every code that fsql reports: what it means, why it happens, what to do, the least that fails.

`docs/errors.md` and `fsql explain-error CODE` are made from this table, and a test fails if a code
has no `.test` case.  A code is never given to another meaning; one that is no longer reported goes.

| codes | about                                  | codes | about                              |
|-------|----------------------------------------|-------|------------------------------------|
| E1xx  | the form of the text                   | E5xx  | data: a row that fails or is malformed |
| E2xx  | names and types                        | E6xx  | the cluster                        |
| E3xx  | meaning: unbounded, not supported      | Wxxx  | warnings                           |
| E4xx  | functions and determinism              | I9xx  | bugs of fsql itself                |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fsql.compiler.codes_meaning import MEANING_ROWS
from fsql.compiler.codes_names import NAME_ROWS


@dataclass(frozen=True, slots=True)
class Code:
    """A row of the table; `example` is the smallest query or input line that is reported so."""

    code: str
    title: str
    cause: str
    fix: str
    example: str


_ROWS: Final = (
    Code(
        "E101",
        "the text does not go on like this",
        "At this place the grammar allows something else: a word is misspelt, missing or too many.",
        "Compare with what is expected there; the message names it.",
        "SELCT a FROM t;",
    ),
    Code(
        "E102",
        "unknown character",
        "The character has no meaning in SQL outside of strings, comments and quoted names.",
        "Remove it, or quote the name or string that it belongs to.",
        "SELECT a ? b FROM t;",
    ),
    Code(
        "E103",
        "string, quoted name or comment not closed",
        "The quote or `/*` that opens it has no counterpart before the text ends.",
        "Close it; a quote inside of a string is written twice.",
        "SELECT 'abc FROM t;",
    ),
    Code(
        "E104",
        "bracket without counterpart",
        "A bracket is opened and not closed, closed and not opened, or closed by one of another kind.",
        "Add or remove the bracket that the message points at.",
        "SELECT (a FROM t;",
    ),
    Code(
        "E105",
        "statement not finished",
        "The text ends, or a semicolon comes, where the statement must go on.",
        "Write the rest of the statement; the message says what can follow.",
        "SELECT a FROM;",
    ),
    Code(
        "E106",
        "reserved word used as a name",
        "The word begins a clause, so it cannot name a table or column as it is.",
        'Quote it, as in "order", or choose another name.',
        "SELECT order FROM t;",
    ),
    Code(
        "E107",
        "text too long",
        "A script, with its parameters put in, has at most 1 MiB and 250,000 words and signs.",
        "Keep data in a table that a connector reads, not in the script.",
        "-- a script of 2 MiB",
    ),
    Code(
        "E108",
        "nested too deeply",
        "Brackets, expressions and subqueries nest at most 200 deep.",
        "Name the inner parts with views or WITH.",
        "SELECT ((((… 1 …)))) FROM t;  -- 201 brackets",
    ),
    Code(
        "E109",
        "list too long",
        "A list in a script has at most 10,000 items.",
        "Put the items into a table and join with it.",
        "SELECT a FROM t WHERE a IN (1, 2, …);  -- 10,001 items",
    ),
    Code(
        "E110",
        "character that cannot be seen",
        "Control characters, text direction marks, zero-width characters and lone surrogates can make "
        "a script look like another one than it is.",
        "Remove the character; in data they are allowed.",
        "SELECT a\\u202e FROM t;",
    ),
    Code(
        "E111",
        "name not in normal form",
        "The same letters can be written as different code points; names are only equal if those are.",
        "Write the name in Unicode normal form C, as the message shows it.",
        "SELECT cafe\\u0301 FROM t;",
    ),
    Code(
        "E112",
        "parameter not given",
        "The script names a parameter `${name}` that has no value.",
        "Give it a value: `-D name=value`.",
        "SELECT a FROM t LIMIT ${rows};",
    ),
    Code(
        "E113",
        "number not well-formed",
        "A number is digits, at most one point and an exponent; a name cannot begin with a digit.",
        "Separate number and name, or quote the name.",
        "SELECT 1a FROM t;",
    ),
    Code(
        "E114",
        "trailing comma",
        "The comma announces another item and none follows.",
        "Remove the comma.",
        "SELECT a, FROM t;",
    ),
    Code(
        "E115",
        "comparisons in a chain",
        "`a < b < c` would compare a truth value with c, which is hardly ever meant.",
        "Write `a < b AND b < c`, or put brackets where a truth value is meant.",
        "SELECT a FROM t WHERE 1 < a < 3;",
    ),
    Code(
        "E116",
        "EMIT that belongs to no SELECT",
        "EMIT says when the SELECT that it ends releases its rows; a UNION has several.",
        "Write EMIT at the end of each SELECT, before ORDER BY and LIMIT of the whole.",
        "SELECT a FROM t UNION ALL SELECT a FROM t LIMIT 3 EMIT FINAL;",
    ),
    *(Code(*row) for row in (*NAME_ROWS, *MEANING_ROWS)),
    Code(
        "E501",
        "division by zero",
        "An integer is divided by zero, or a remainder by zero is asked for.",
        "Guard the divisor: `a / NULLIF(b, 0)`, or use DOUBLE, where the result is Infinity or NaN.",
        "SELECT 1 / a FROM t;  -- a row with a = 0",
    ),
    Code(
        "E502",
        "number out of range",
        "The result does not fit its type: INT has 32 bits, BIGINT and INTERVAL have 64.",
        "Cast an operand to a wider type before the operation.",
        "SELECT a * a FROM t;  -- a row with a = 9223372036854775807",
    ),
    Code(
        "E503",
        "value cannot be cast",
        "The text does not have the form of a value of that type.",
        "Use TRY_CAST, which gives NULL instead, or filter such rows before.",
        "SELECT CAST(s AS BIGINT) FROM t;  -- a row with s = 'x'",
    ),
    Code(
        "E504",
        "timestamp out of range",
        "Timestamps are in the years 1 to 9999.",
        "Filter the rows whose time is beyond before computing with it.",
        "SELECT at + INTERVAL '9000' YEAR FROM t;",
    ),
    Code(
        "E505",
        "aggregate out of range",
        "The sum of a group does not fit BIGINT.",
        "Sum a DOUBLE: `SUM(CAST(a AS DOUBLE))`.",
        "SELECT SUM(a) FROM t;  -- two rows with a = 9223372036854775807",
    ),
    Code(
        "E511",
        "line is not JSON",
        "The record is not one JSON value: it is cut off, has more behind it, or is not JSON at all.",
        "Repair the record, or read the table with `'on_error' = 'reject'`.",
        '{"a": 1',
    ),
    Code(
        "E512",
        "duplicate key",
        "The same field comes twice, so it is not certain which value is meant.",
        "Have the producer write each field once.",
        '{"a": 1, "a": 2}',
    ),
    Code(
        "E513",
        "value of another type",
        "The field's value is not of the type that the table declares; nothing is converted silently.",
        "Declare the column with the type that the data has, and cast in the query.",
        '{"a": "1"}  -- a BIGINT',
    ),
    Code(
        "E514",
        "number out of range",
        "The field's number does not fit the column's type.",
        "Declare a wider type.",
        '{"a": 9223372036854775808}  -- a BIGINT',
    ),
    Code(
        "E515",
        "not UTF-8",
        "The record's bytes are not valid UTF-8.",
        "Convert the data to UTF-8.",
        '{"s": "\\xff"}',
    ),
    Code(
        "E516",
        "nested too deeply",
        "A record nests at most 64 deep.",
        "Have the producer write flatter records.",
        "[[[[…]]]]  -- 65 brackets",
    ),
    Code(
        "E517",
        "record too long",
        "A record has at most as many bytes as the table's option `max_record_bytes` says (1 MiB).",
        "Raise the option, or have the producer write smaller records.",
        "a line of 2 MiB",
    ),
    Code(
        "E519",
        "record is not an object",
        "A record must be a JSON object with the table's columns as fields.",
        "Have the producer write one object a line.",
        "[1, 2]",
    ),
    Code(
        "E520",
        "invalid timestamp",
        "A timestamp is `YYYY-MM-DDThh:mm:ss` with at most 6 digits of fraction and an offset, and a day "
        "that exists, or an integer of milliseconds since 1970.",
        "Repair the value, or declare the column as STRING and convert it in the query.",
        '{"at": "2024-02-30T00:00:00Z"}',
    ),
    Code(
        "E521",
        "NULL where a value is required",
        "The column is NOT NULL or the table's event time, and the record has no value for it.",
        "Declare the column nullable, or have the producer write it.",
        "{}  -- with a BIGINT NOT NULL",
    ),
    Code(
        "E531",
        "source cannot be opened",
        "The file or directory is not there, is empty of files, or may not be read.",
        "Correct the path, which is taken from the script's directory, or the permissions.",
        "SELECT a FROM t;  -- t with 'path' = 'missing.jsonl'",
    ),
    Code(
        "E532",
        "sink cannot be opened",
        "The directory is not there, or the file may not be written.",
        "Create the directory, or correct the path or the permissions.",
        "INSERT INTO t SELECT a FROM u;  -- t with 'path' = 'missing/t.jsonl'",
    ),
    Code(
        "E533",
        "path outside of the data roots",
        "Where data roots are set, tables may only name paths that lead to a place under one of them.",
        "Move the file there, or have the root added.",
        "SELECT a FROM t;  -- t with 'path' = '../../etc/passwd'",
    ),
    Code(
        "E534",
        "option that the connector cannot follow",
        "The option's value goes beyond what the connector can do; the message says the limit.",
        "Change the option as the message says.",
        "SELECT a FROM t;  -- t with 'max_record_bytes' = '1000000000'",
    ),
    Code(
        "E535",
        "reading or writing failed",
        "The operating system refused: the disk is full or failed, or the reader of a stream is gone.",
        "Remove the cause that the message names, and run again.",
        "INSERT INTO t SELECT a FROM u;  -- t on a full disk",
    ),
    Code(
        "I901",
        "internal error",
        "fsql has met a state that it takes for impossible: a bug.",
        "Please report it with the script and the report that fsql printed.",
        "-- none is known",
    ),
)

CODES: Final = {row.code: row for row in _ROWS}
"""The table by code, such as "E101"; people see `FSQL-E101`."""
assert len(CODES) == len(_ROWS), "a code has two rows"
