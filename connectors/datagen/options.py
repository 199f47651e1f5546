"""The options of connector `datagen`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fsql.compiler.connectors import TIME_OPTIONS, Connector, Effect, InputEnd, Option, OptionKind
from fsql.connectors.generated.options import COUNT, RATE, ROW_OPTIONS

_FIELD: Final = (
    Option(
        "fields.*.kind",
        OptionKind.CHOICE,
        "how values of the column `*` are made; `choice` with `values`, otherwise `sequence` for TIMESTAMP"
        " and DATE and `random` for all else, if not given",
        ("sequence", "random", "choice"),
    ),
    Option("fields.*.start", OptionKind.TEXT, "`sequence`: the value of the first row"),
    Option(
        "fields.*.step",
        OptionKind.TEXT,
        "`sequence`: from row to row, a number (of days for DATE), for TIMESTAMP a duration; 1, or what the"
        " `rate` makes it, or `1 s`, if not given",
    ),
    Option(
        "fields.*.jitter",
        OptionKind.DURATION,
        "TIMESTAMP: how much earlier than in order a value may be, at random",
    ),
    Option("fields.*.min", OptionKind.TEXT, "`random`: the minimum; 0 if not given"),
    Option(
        "fields.*.max",
        OptionKind.TEXT,
        "`random`: the maximum; 1000 if not given, 1 for DOUBLE",
    ),
    Option(
        "fields.*.distinct",
        OptionKind.POSITIVE,
        "`random` STRING: how many different words there are, some much more frequent than others (Zipf's"
        " law); 1000 if not given",
        greatest=10_000_000,
    ),
    Option(
        "fields.*.values",
        OptionKind.TEXT,
        "`choice`: the values, with commas between; each is equally likely",
    ),
    Option(
        "fields.*.null_rate",
        OptionKind.TEXT,
        "the part of rows in which the column is NULL, 0 to 1",
    ),
)

CONNECTOR: Final = Connector(
    "datagen",
    "generated rows for any columns, for trials and tests",
    reads=True,
    writes=False,
    end=InputEnd(ends=False, key=COUNT),
    options=(
        *(
            # The step of times that have none of their own is that of the rate.
            replace(each, effect=Effect.TIMES) if each.key == RATE else each
            for each in ROW_OPTIONS
        ),
        *_FIELD,
        *TIME_OPTIONS,
    ),
    notes="""\
The value of a column in row i depends on the seed, the name of the column and i alone, so the same options
give the same rows in every run, with any number of workers, and after a failure.  For a column without
options, numbers are 0 to 1000 at random, FLOAT and DOUBLE 0 to 1, texts are words, BOOLEAN, TIME and the
eight octets of BYTES are random, and times with a date ascend in steps from 2026-01-01.  An ARRAY has up to
three elements, a MAP as many entries; elements and fields of a ROW are made like columns without options.
""",
)
