"""Random expressions in SQL text, from templates.

`{B}` in a template is an expression of the type with the letter B; `Expressions` fills them in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

LETTERS: Final = {
    "I": INT,
    "B": BIGINT,
    "D": DOUBLE,
    "S": STRING,
    "Q": BOOLEAN,
    "T": TIMESTAMP,
    "Y": DATE,
    "A": array_of(BIGINT),
    "Z": array_of(STRING),
}
"""The letters that stand for types in the templates below."""

LITERALS: Final = {
    "I": ("0", "1", "2", "-3", "7"),
    "B": ("0", "1", "2", "-3", "10"),
    "D": ("0.5", "1.5", "-2.25", "1e3", "0.1"),
    "S": ("'a'", "'b'", "''", "'a,b'", "'é'", "'12'"),
    "Q": ("TRUE", "FALSE"),
    "T": ("TIMESTAMP '2024-03-01 12:00:05'", "TIMESTAMP '2024-03-01 11:59:58.500'"),
    "Y": ("DATE '2024-03-01'", "DATE '2024-02-29'"),
    "A": ("ARRAY[CAST(1 AS BIGINT), 2, 1]", "ARRAY[CAST(3 AS BIGINT)]"),
    "Z": ("ARRAY['a', 'b', 'a']", "ARRAY['']"),
}
TEMPLATES: Final = {
    "I": ("{I}", "CASE WHEN {Q} THEN {I} ELSE {I} END", "TRY_CAST({B} AS INT)"),
    "B": (
        *(
            "({B} + {B})",
            "({B} - {B})",
            "({B} * 2)",
            "ABS({B})",
            "(- {B})",
            "({B} % 3)",
            "({B} / 2)",
        ),
        *("CHAR_LENGTH({S})", "CARDINALITY({A})", "CARDINALITY({Z})", "ELEMENT_AT({A}, 2)"),
        *("COALESCE({B}, {B})", "GREATEST({B}, {B})", "LEAST({B}, {B})", "CAST({I} AS BIGINT)"),
        *("CASE WHEN {Q} THEN {B} ELSE {B} END", "CASE {B} WHEN 1 THEN {B} WHEN 2 THEN 5 END"),
        *(
            "TRY_CAST({S} AS BIGINT)",
            "({Y} - {Y})",
            "DAY({Y})",
            "EPOCH_MILLIS({T}) % 7000",
            "CASE WHEN {B} <> 0 THEN 12 / {B} ELSE -1 END",
            "REDUCE({A}, {B}, (total, x) -> total * 2 + x)",
        ),
    ),
    "D": (
        *("({D} + {D})", "({D} - {D})", "({D} * {D})", "({D} / {D})", "CAST({B} AS DOUBLE)"),
        *("ROUND({D})", "FLOOR({D})", "SQRT({D})", "(- {D})", "ABS({D})", "COALESCE({D}, {D})"),
        "CASE WHEN {Q} THEN {D} ELSE {D} END",
    ),
    "S": (
        *("UPPER({S})", "LOWER({S})", "({S} || {S})", "SUBSTRING({S} FROM 2)", "TRIM({S})"),
        *("SUBSTRING({S}, 1, 1)", "REPLACE({S}, 'a', 'xy')", "CAST({B} AS STRING)"),
        *("COALESCE({S}, {S})", "CASE WHEN {Q} THEN {S} ELSE {S} END", "CAST({Q} AS STRING)"),
        *(
            "CAST({D} AS STRING)",
            "CAST({T} AS STRING)",
            "ELEMENT_AT({Z}, 1)",
            "CAST({Y} AS STRING)",
        ),
    ),
    "Q": (
        *("{B} = {B}", "{B} < {B}", "{B} >= {B}", "{B} <> {B}", "{S} = {S}", "{S} < {S}"),
        *("{D} <= {D}", "{D} = {D}", "{T} > {T}", "({Q} AND {Q})", "({Q} OR {Q})", "(NOT {Q})"),
        *("{B} IS NULL", "{S} IS NOT NULL", "{S} LIKE 'a%'", "{B} BETWEEN {B} AND {B}"),
        *(
            "{B} IN (1, 2, 5)",
            "{S} IN ('a', 'b')",
            "{A} = {A}",
            "{Y} < {Y}",
            "{Y} <= {T}",
            "({B} <> 0 AND 12 / {B} > 2)",
            "ANY_MATCH({Z}, x -> x < {S})",
        ),
    ),
    "T": ("{T} + INTERVAL '1' SECOND", "{T} - INTERVAL '2' MINUTE", "COALESCE({T}, {T})"),
    "Y": ("CAST({T} AS DATE)", "CAST({Y} + INTERVAL '1' DAY AS DATE)", "COALESCE({Y}, {Y})"),
    "A": (
        *("ARRAY[{B}, CAST({B} AS BIGINT)]", "ARRAY[CAST({B} AS BIGINT), NULL, {B}]"),
        *("COALESCE({A}, {A})", "LIST_TRANSFORM({A}, x -> x + {B})"),
        "LIST_FILTER({A}, x -> x < {B} OR x = 1)",
    ),
    "Z": (
        *("LIST_TRANSFORM({Z}, x -> x || {S})", "LIST_FILTER({Z}, x -> x <> {S})"),
        "SPLIT({S}, ',')",
        "ARRAY[{S}, {S}]",
        "COALESCE({Z}, {Z})",
    ),
}
"""Expressions by the letter of their type; none fails a row unless numbers are large."""

RISKY: Final = {
    "I": ("({I} * {I})", "CAST({B} AS INT)"),
    "B": (
        "({B} / {B})",
        "({B} % {B})",
        "({B} * {B})",
        "CAST({S} AS BIGINT)",
        "CAST({D} AS BIGINT)",
    ),
    "D": ("CAST({S} AS DOUBLE)",),
    "S": ("CAST({B} / {B} AS STRING)",),
    "Q": ("{B} / {B} > 1", "CAST({S} AS BOOLEAN)"),
    "T": ("TIMESTAMP_MILLIS({B} * {B})", "TO_TIMESTAMP({S})"),
    "Y": ("{Y} - INTERVAL '1' DAY * {B}", "CAST({S} AS DATE)"),
}
"""Expressions that fail on rows that are not rare."""


OF_FSQL: Final = (
    "LIST_",
    "SQRT",
    "REDUCE",
    "ANY_MATCH",
    "{D} / {D}",
    "CAST({D} AS STRING)",
    "CAST({T} AS STRING)",
)
PLAIN_TEMPLATES: Final = {
    letter: tuple(text for text in texts if not any(word in text for word in OF_FSQL))
    for letter, texts in TEMPLATES.items()
}
"""The templates that mean the same in other SQL."""


@dataclass(frozen=True)
class ColumnText:
    """A column in view: `letter` is its type; event time if `time`, and then never NULL."""

    name: str
    letter: str
    time: bool = False


@dataclass
class Expressions:
    """Random expressions in text over some columns.

    `risk` is how often one may fail; with `plain` they mean the same in other SQL.
    """

    random: Random
    columns: Sequence[ColumnText]
    risk: float
    prefix: str = ""
    plain: bool = False

    def text(self, letter: str, depth: int) -> str:
        """Return an expression of the letter's type, at most `depth` calls deep."""
        columns = [column.name for column in self.columns if column.letter == letter]
        if depth == 0 or self.random.random() < 0.2:
            if columns and self.random.random() < 0.8:
                return self.prefix + self.random.choice(columns)
            return self.random.choice(LITERALS[letter])
        fallible_expression = self.random.random() < self.risk and letter in RISKY
        templates = PLAIN_TEMPLATES if self.plain else RISKY if fallible_expression else TEMPLATES
        return self.filled(self.random.choice(templates[letter]), depth - 1)

    def filled(self, template: str, depth: int) -> str:
        """Return `template` with an expression at each place for one."""
        return re.sub(r"\{(\w)\}", lambda found: self.text(found[1], depth), template)
