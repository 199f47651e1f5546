"""The options of connector `documents`."""

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
    "documents",
    "generated documents, for trials",
    reads=True,
    writes=False,
    end=InputEnd(ends=False, key=COUNT),
    options=(
        *GENERATED_OPTIONS,
        Option("words", OptionKind.POSITIVE, "words of a document", default="100"),
        *TIME_OPTIONS,
    ),
    notes=GENERATED_NOTES,
    columns=GENERATED_COLUMNS,
)
