"""The options of connector `words`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import TIME_OPTIONS, Connector, InputEnd, Option, OptionKind
from fsql.connectors.generated.options import (
    COUNT,
    GENERATED_COLUMNS,
    GENERATED_NOTES,
    GENERATED_OPTIONS,
)

CONNECTOR: Final = Connector(
    "words",
    "generated lines of words, for trials",
    reads=True,
    writes=False,
    end=InputEnd(ends=False, key=COUNT),
    options=(
        *GENERATED_OPTIONS,
        Option("words_per_line", OptionKind.POSITIVE, "words of a line", default="10"),
        *TIME_OPTIONS,
    ),
    notes=GENERATED_NOTES,
    columns=GENERATED_COLUMNS,
)
