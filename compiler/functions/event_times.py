"""Conversions between timestamps, text, and milliseconds since the epoch; and truncation."""

from __future__ import annotations

from fsql.compiler.functions.signature import Function, Nullability, Signature, TypeVariable
from fsql.compiler.functions.timestamps import in_range
from fsql.compiler.functions.truncation import truncate, unit_error
from fsql.compiler.sqltypes import BIGINT, INTERVAL, STRING, TIMESTAMP

_MILLISECOND_US = 1_000
TIME_BEFORE = "time_before"
"""The function `time_before(time, later, behind)`, which only the binder calls: it returns `time`.

That is never NULL, never after `later`, and at most `behind` before it.  So it is event time if `later` is.
"""

EVENT_TIMES = (
    Function(
        "timestamp_millis",
        ("TIMESTAMP_MILLIS", "TO_TIMESTAMP_MILLIS"),
        (
            Signature(
                (BIGINT,),
                TIMESTAMP,
                lambda millis: in_range(millis * _MILLISECOND_US),
                fallible=True,
            ),
        ),
    ),
    Function(
        "epoch_millis",
        ("EPOCH_MILLIS", "UNIX_MILLIS", "EPOCH_MS"),
        (Signature((TIMESTAMP,), BIGINT, lambda at: at // _MILLISECOND_US),),
        of_instants=True,
    ),
    Function(
        "date_trunc",
        ("DATE_TRUNC",),
        (Signature((STRING, TIMESTAMP), TIMESTAMP, truncate),),
        literal_check=unit_error,
        literal_index=0,
        literal_word="unit",
    ),
    Function(
        TIME_BEFORE,
        (),
        (
            Signature(
                (TypeVariable.ANY, TypeVariable.EACH, INTERVAL),
                TypeVariable.ANY,
                lambda time, _later, _behind: time,
            ),
        ),
        Nullability.NEVER,
        strict=False,
    ),
)
