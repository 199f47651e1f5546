"""Syntax of other SQL dialects, with the equivalent in fsql.

PostgreSQL, Flink, ksqlDB, RisingWave and DuckDB have statements, operators and clauses that this grammar does
not support. There is a help text for each that users are likely to write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.parser.lexer import Token

_ONE_JOB: Final = "write the INSERTs one after the other; all statements of a script are one job"
_WITHIN: Final = "write WITHIN 1 HOUR, with a number and a unit, before ON"
_NO_CATALOG: Final = "remove it; a script declares all tables that it uses; there is no catalog"
OF_JAVA: Final = (
    "write a function in Python: "
    "CREATE FUNCTION f (a BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'module:name'"
)
NO_RECURSION: Final = "a query cannot read itself; UNNEST(SEQUENCE(1, n)) makes numbers"
_NO_RANDOMNESS: Final = (
    "results do not vary from run to run: filter rows with a condition on a column"
)
_ENDING: Final = "end the query with Ctrl-C, a job of the agent with fsql stop"
_MAINTAINED: Final = "remove it; results are kept up to date while the job runs"
_NO_UPDATE: Final = "write a query with INSERT INTO; tables cannot be changed by other statements"

STATEMENTS: Final[Mapping[str, str]] = {
    "PRAGMA": "set options on the command line; see fsql run --help",
    "DEFINE": "use ${name} in the script, and give its value with -D name=value",
    "DECLARE": "use ${name} in the script, and give its value with -D name=value",
    "LIST": "write SHOW TABLES",
    "ALTER": "change the CREATE statement; tables and views exist only while their script runs",
    "TRUNCATE": _NO_UPDATE,
    "UPDATE": _NO_UPDATE,
    "DELETE": _NO_UPDATE,
    "MERGE": _NO_UPDATE,
    "UPSERT": "write INSERT INTO a table with a PRIMARY KEY and 'changes' = 'upsert'",
    "COPY": "declare a table over the file with 'connector' = 'file', and use INSERT INTO or SELECT",
    "ATTACH": _NO_CATALOG,
    "LOAD": _NO_CATALOG,
    "INSTALL": _NO_CATALOG,
    "GRANT": _NO_CATALOG,
    "START": _ONE_JOB,
    "COMMIT": _ONE_JOB,
    "ROLLBACK": _ONE_JOB,
    "END": _ONE_JOB,
    "REFRESH": _MAINTAINED,
    "ANALYZE": _MAINTAINED,
    "VACUUM": _MAINTAINED,
    "SUMMARIZE": "write an aggregate query: SELECT COUNT(*), MIN(a), MAX(a) FROM t",
    "PIVOT": "write an aggregate for each value: SUM(x) FILTER (WHERE k = 'a')",
    "UNPIVOT": "write a SELECT for each column, and UNION ALL",
    "TABLE": "write SELECT * FROM the table",
    "RUN": "run the other script with fsql run",
    "GO": 'a statement ends with ";"',
    "PRINT": "write SELECT * FROM the table",
    "SUBSCRIBE": "write SELECT at the end of the script: its changes are printed",
    "FROM": "write SELECT before FROM",
    "ADD": "remove it; connectors and formats are part of fsql",
    "COMMENT": "write COMMENT 'text' in CREATE TABLE, behind the columns",
    **dict.fromkeys(("STOP", "TERMINATE", "KILL", "CANCEL"), _ENDING),
    "PAUSE": "press Ctrl-S to pause the query that runs, Ctrl-Q to continue it",
    "RESUME": "press Ctrl-Q to continue a query that Ctrl-S has paused",
    "UNSET": "write RESET 'key'",
    "CLEAR": "press Ctrl-L to clear the screen of the shell",
    "SOURCE": "run the other script with fsql run, or begin with it: fsql shell script.sql",
    "HELP": "write help alone, in fsql shell; docs/language.md describes the statements",
}
"""Help for the first token of a statement."""

CREATED: Final[Mapping[str, str]] = {
    "EXTERNAL": "write CREATE TABLE … WITH ('connector' = …)",
    "FOREIGN": "write CREATE TABLE … WITH ('connector' = …)",
    "UNLOGGED": "write CREATE TABLE … WITH ('connector' = …)",
    "CONTINUOUS": "write CREATE VIEW, or INSERT INTO a table; every query is continuous",
    "CONNECTION": "write the options in WITH of CREATE TABLE",
    "CONNECTOR": "write the options in WITH of CREATE TABLE",
    "SECRET": "write the options in WITH of CREATE TABLE",
    "MACRO": "write CREATE FUNCTION … LANGUAGE PYTHON AS 'module:name'",
    "SEQUENCE": "remove it; a column BIGINT METADATA FROM 'row' has the number of the row in its file",
    "TRIGGER": "write INSERT INTO … SELECT, which is computed for each row that arrives",
    "INDEX": "remove it; state is indexed by the keys of joins and groups",
    "CATALOG": _NO_CATALOG,
}
"""Help for the token after CREATE."""

AFTER_WORD: Final[Mapping[tuple[str, str], str]] = {
    **dict.fromkeys(
        (("SET", "TIME"), ("SET", "TIMEZONE")),
        "write SET 'table.local-time-zone' = 'Europe/Berlin'",
    ),
    ("SET", "UPDATING_TTL"): "write SET 'table.exec.state.ttl' = '1 d'",
    ("MUTUALLY", "RECURSIVE"): NO_RECURSION,
    ("DROP", "FUNCTION"): "remove it; functions exist only while their script runs",
    ("DROP", "CATALOG"): _NO_CATALOG,
    ("MATERIALIZED", "TABLE"): "write CREATE TABLE … WITH (…) AS SELECT …",
    ("BEGIN", ""): _ONE_JOB,
    ("BEGIN", "TRANSACTION"): _ONE_JOB,
    ("BEGIN", "WORK"): _ONE_JOB,
    ("INTO", "TABLE"): "remove TABLE: INSERT INTO t",
    ("OVERWRITE", "TABLE"): "remove TABLE: INSERT OVERWRITE t",
    ("CONFLICT", "ON"): "name the columns of the key: ON CONFLICT (k) DO NOTHING",
    ("DESCRIBE", "TABLE"): "remove TABLE: DESCRIBE t",
    ("DESC", "TABLE"): "remove TABLE: DESCRIBE t",
}
"""Help for a word after another one, which is "" for a sign."""

BEFORE_TEXT: Final[Mapping[tuple[str, str], str]] = {
    ("WITH", "ROLLUP"): "write GROUP BY ROLLUP (a, b)",
    ("WITH", "CUBE"): "write GROUP BY CUBE (a, b)",
    (
        "ON",
        "CONFLICT",
    ): "write it after the query of an INSERT: ON CONFLICT (k) DO NOTHING, or DO UPDATE FULL",
    ("USING", "SAMPLE"): _NO_RANDOMNESS,
    ("FOR", "SYSTEM_TIME"): "write the alias after it: JOIN t FOR SYSTEM_TIME AS OF a.at AS b",
}
"""Help for a word before another token."""

_REFERENCES: Final = "remove it; tables have no references to others"

CALLED: Final[Mapping[tuple[str, str], str]] = {
    ("EXTRACT", ","): "write EXTRACT(HOUR FROM at)",
    ("SAFE_CAST", "AS"): "write TRY_CAST(a AS type), which is NULL if the cast fails",
}
"""Help for a word inside the brackets of a call, by the name before the bracket."""

_WATERMARK: Final = "write WATERMARK FOR at AS at - INTERVAL '5' SECOND, with the event-time column"

ITEMS: Final[Mapping[tuple[str, ...], str]] = {
    ("FOREIGN", "KEY"): _REFERENCES,
    ("WATERMARK", "AS"): _WATERMARK,
    ("WATERMARK", "-"): _WATERMARK,
}
"""Help for an item in brackets, by its first word and the second, or the token that does not fit."""

READ_AS_NAMES: Final[Mapping[str, str]] = {
    "WITHIN": _WITHIN,
    "OF": "write JOIN t FOR SYSTEM_TIME AS OF a.at, with the event time of the other side",
    "OVERLAPS": "compare the bounds: (a, b) and (c, d) overlap if a < d AND c < b",
    "TOP": "write LIMIT n at the end of the query",
    "MOD": "write MOD(a, b) or a % b",
    "DIV": "write CAST(a / b AS BIGINT)",
    "TABLESAMPLE": _NO_RANDOMNESS,
    "EXTENDED": "remove EXTENDED",
}
"""Help for words that the grammar accepts as names, if the token after them does not fit."""

CLAUSES: Final[Mapping[str, str]] = {
    "PARTITION": "remove PARTITION BY; rows are distributed by the keys of joins and groups",
    "PARTITIONED": "write it before WITH, with names of columns: (…) PARTITIONED BY (day) WITH (…)",
    "DISTRIBUTED": "remove DISTRIBUTED BY; rows are distributed by the keys of joins and groups",
    "GLOB": "use LIKE, with % instead of *",
    "RETURNING": "remove it; read the table that INSERT writes with another script",
    "FETCH": "write LIMIT",
    "SESSION": "write FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(at), INTERVAL '5' MINUTE)",
    "SAMPLE": _NO_RANDOMNESS,
    "TABLESAMPLE": _NO_RANDOMNESS,
    "WITHIN": _WITHIN,
    "DEFAULT": "remove it; where the column or the JSON value is read, write COALESCE(…, value)",
    "GENERATED": "write a computed column: name AS expression",
    "CHECK": "remove it; where the table is read, write the condition in WHERE",
    "UNIQUE": "remove it, or write PRIMARY KEY (…) NOT ENFORCED",
    "REFERENCES": _REFERENCES,
    "FOREIGN": _REFERENCES,
}
"""Help for the first token of a clause."""

PIVOTS: Final[Mapping[str, str]] = {
    "PIVOT": "write SUM(a) FILTER (WHERE k = 1) AS one, … in a query with GROUP BY",
    "UNPIVOT": "write CROSS JOIN LATERAL (VALUES ('a', a), ('b', b)) AS u (name, value)",
}
"""Help for `PIVOT (SUM(…) …)` and `UNPIVOT (a …)`, which begin like an alias with column names."""

OF_KINDS: Final[Mapping[str, str]] = {
    "STREAM_WINDOW": "write it before WHERE and GROUP BY: FROM t WINDOW TUMBLING (SIZE 1 HOUR)",
    "SINK_WITH": "say whose rows are written: CREATE SINK s FROM v WITH (…), or AS SELECT … WITH (…)",
}
"""Help for `WINDOW TUMBLING (…)` at another place than after FROM, and for a sink without rows."""

_OBJECT: Final = "write ROW(a, b), or MAP {'key': a}"
_PARAMETER: Final = "a parameter is written ${name}"

SIGNS: Final[Mapping[str, str]] = {
    "#": "a comment begins with --",
    "~": "write brackets after another operator: 1 + (~a)",
    "@>": "of arrays use ARRAY_CONTAINS_ALL(a, b); of JSON compare the parts, a ->> 'key' = 'x'",
    "&&": "write AND; of arrays use ARRAYS_OVERLAP(a, b)",
    "^@": "use STARTS_WITH(text, prefix)",
    "|/": "use SQRT(a)",
    "||/": "use POWER(a, 1 / 3.0)",
    "|": "write || to join texts; the bits of two numbers are a | b",
    "!": "write NOT",
    "{{": _PARAMETER,
    "{": _OBJECT,
    "[": "an array is written ARRAY[1, 2], and a name in double quotes",
    ":": "write a::type for a cast, and a ->> 'key' for a text in JSON",
    "?": f"{_PARAMETER}; whether JSON has a key is JSON_EXISTS(text, '$.key')",
    ":=": "a value is named with AS; fields and entries are written STRUCT(a := 1), MAP('k' := 1)",
    "<@": "of arrays use ARRAY_CONTAINS_ALL(b, a); of JSON compare the parts, a ->> 'key' = 'x'",
    "@": _PARAMETER,
    "$$": "a text is written in single quotes; a function is in a file: LANGUAGE PYTHON AS 'module:name'",
    "$": f"{_PARAMETER}, with letters, digits and underscores",
    "\\": "write SHOW TABLES or DESCRIBE t",
    "<=>": "write IS NOT DISTINCT FROM",
    "//": "a comment begins with --; the quotient is a / b",
}
"""Help for signs that are not in the grammar."""


def item_help(before: Sequence[Token], bad: Token) -> str | None:
    """Return the help for the item in brackets that contains `bad`.

    `before` are the tokens before it; the help is that of the innermost item with a help text.
    """
    depth = 0
    begun = True  # `bad` is a part of the item that begins next, not of a later one.
    for index in range(len(before), 0, -1):
        kind = before[index - 1].kind
        depth += (kind == "RPAR") - (kind == "LPAR")
        if depth > 0 or (depth == 0 and kind != "COMMA"):
            continue
        if begun:
            first = tuple(token.text.upper() for token in before[index : index + 2])
            called = before[index - 2].text.upper() if depth < 0 and index > 1 else ""
            keys = (called, bad.text.upper()), first, (*first[:1], bad.text.upper())
            help_ = CALLED.get(keys[0]) or ITEMS.get(keys[1]) or ITEMS.get(keys[2])
            if help_ is not None:
                return help_
        begun, depth = depth < 0, 0
    return None


_UNITS: Final = frozenset({"SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"})


def short_form_help(before: Sequence[Token], bad: Token) -> str | None:
    """Return the help for `INSERT t`, `LIMIT 10, 5`, `'1' HOUR`, and `FETCH FIRST 3 ROWS WITH TIES`."""
    words = tuple(token.text.upper() for token in before[-2:])
    if words[-1:] == ("INSERT",) and bad.kind in {"WORD", "QUOTED_NAME"}:
        return "write INSERT INTO t"
    if before[-1].kind == "STRING" and bad.text.upper().removesuffix("S") in _UNITS:
        return "write INTERVAL before the text: INTERVAL '1' HOUR"
    if words[:1] == ("LIMIT",) and bad.kind == "COMMA":
        return "write LIMIT 5 OFFSET 10 for LIMIT 10, 5"
    if words[-1:] in {("ROW",), ("ROWS",)} and bad.text.upper() == "WITH":
        return "write QUALIFY RANK() OVER (ORDER BY x) <= 3 for FETCH FIRST 3 ROWS WITH TIES"
    return None


def pivot_help(before: Sequence[Token]) -> str | None:
    """Return the help for PIVOT and UNPIVOT, if the token after `before` is the second in their brackets."""
    if len(before) < 3 or before[-2].kind != "LPAR":
        return None
    return PIVOTS.get(before[-3].text.upper())


_COLON_NAME: Final = re.compile(r"(?<!\w):[A-Za-z_]")


def sign_help(text: str, offset: int) -> str | None:
    """Return the help for the longest known sign at `offset`."""
    if text[offset] == ":" and text[offset : offset + 2] != ":=":
        return _colon_help(text, offset)
    if text[offset] == "@" and text[offset - 1 : offset] in {"<", "^"}:
        offset -= 1
    for length in (3, 2, 1):
        if help_ := SIGNS.get(text[offset : offset + length]):
            return help_
    return None


def _colon_help(text: str, offset: int) -> str:
    """Return the help for a colon: for a parameter, an object, a part of an array, or a cast."""
    if _COLON_NAME.match(text, offset):
        return _PARAMETER
    opened = {bracket: text.rfind(bracket, 0, offset) for bracket in "{}[]"}
    if opened["{"] > opened["}"]:
        return _OBJECT
    if opened["["] > opened["]"]:
        return "write ARRAY_SLICE(array, from, to), or SUBSTRING(text, from, length)"
    return SIGNS[":"]
