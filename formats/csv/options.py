"""The options of format `csv`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import RECORD_LENGTH, Format, Layout, Option, OptionKind

FORMAT: Final = Format(
    "csv",
    "CSV: records of fields with a delimiter between them",
    Layout.LINES,
    takes_changes=True,
    takes_lists=False,
    options=(
        Option(
            "header",
            OptionKind.CHOICE,
            "whether the first line names the columns",
            ("true", "false"),
            default="true",
        ),
        Option(
            "delimiter",
            OptionKind.CHARACTER,
            "character between two fields; `\\t` is a tab; inferred where columns are",
            default=",",
        ),
        Option("quote", OptionKind.CHARACTER, "character around a field", default='"'),
        Option(
            "escape",
            OptionKind.CHARACTER,
            "character that makes the next one within quotes an ordinary one; where it is the quote"
            " itself, a quote is written twice",
            default='"',
        ),
        Option(
            "null", OptionKind.ANY_TEXT, "the text that is NULL if it has no quotes", default=""
        ),
        RECORD_LENGTH,
    ),
    suffixes=(".csv",),
    disjoint=(
        ("delimiter", "quote"),
        ("delimiter", "escape"),
        ("null", "delimiter"),
        ("null", "quote"),
        ("null", "escape"),
    ),
    notes="""\
With a header, columns are found by name: the file may have them in another order, and may have others,
which are ignored; one that is missing is an error before the first row is read.  Standard input and sockets
need the columns in the order of the table.  Without a header, fields are the columns in their order.

A field is read as by `CAST(field AS type)`, `.5`, NaN, Infinity and `yes` included; a TIMESTAMP cannot be a
number.  A field without quotes that equals the option `null` is NULL; with quotes it is that text.  A record
that has another number of fields, or text after a closing quote, is malformed.

A quoted field may hold line ends; they are read as they are.  If a quote is not closed within
`max_record_bytes`, or before the end of the input, only the line in which it opens is malformed, and the next
record begins with the next line.  A file must not grow after such an end.  In live input a record that a
disconnection or a failure has cut within quotes continues with the next line that arrives.

Output is quoted as in RFC 4180 where necessary.  The kind of a change is written to a first
column, named by `op_column`.  The header is written where the output is empty.
""",
)
