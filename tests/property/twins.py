"""The twins of code over columns: what computes a few rows as Python values (`fsql.runtime.few_rows`)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent.parent

TWINS: Final = {
    "fsql.runtime.arrow_types": "values of Python to a column",
    "fsql.runtime.change_order": "the order of the changes of a root",
    "fsql.runtime.few_rows": "the maps between two exchanges (`kernels/maps/few_rows.py`)",
    "fsql.runtime.order": "order by position, ranks of texts, ties",
    "fsql.runtime.ties": "rows of equal position",
    "fsql.runtime.kernels.accumulators.chosen_rows": "FIRST_VALUE and LAST_VALUE",
    "fsql.runtime.kernels.expressions.casts": "texts to and from numbers",
    "fsql.runtime.kernels.expressions.functions_regexp": "regular expressions",
    "fsql.runtime.kernels.expressions.functions_string": "SPLIT_PART",
    "fsql.runtime.kernels.expressions.lambdas": "the last rows of a round of REDUCE",
    "fsql.runtime.kernels.expressions.strict": "functions of texts",
    "fsql.runtime.kernels.keyed.integer_keys": "slots of keys of numbers",
    "fsql.runtime.kernels.keyed.slots": "slots of all other keys",
    "fsql.runtime.kernels.over.kernel": "running aggregates of slots with one row each",
    "fsql.runtime.kernels.ranking.top": "registers of the first rows",
}
"""The modules with a twin, and what it computes."""
AT_THE_EDGE: Final = {
    "fsql.formats.json.decoder": "tests/unit/formats/test_json_bulk.py",
    "fsql.formats.json.encoder": "tests/unit/formats/test_json_encoder.py",
    "fsql.formats.timestamps": "tests/unit/formats/test_timestamps.py",
    "fsql.runtime.wire.columns": "tests/unit/wire/test_codec.py",
}
"""Twins that rows of the engine alone do not pass, and the tests that compare both forms."""
_IMPORTED = re.compile(r"^from fsql\.runtime\.few_rows import (.*FEW_ROWS.*)$", re.MULTILINE)


@cache
def modules_with_limits() -> dict[str, tuple[str, ...]]:
    """Return the modules that decide by a number of rows, with the names of their limits."""
    limits: dict[str, tuple[str, ...]] = {"fsql.runtime.few_rows": ("FEW_ROWS",)}
    for folder in ("runtime", "formats", "connectors", "job"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if imported := _IMPORTED.search(path.read_text()):
                module = ".".join(("fsql", *path.relative_to(ROOT).with_suffix("").parts))
                limits[module] = tuple(re.findall(r"FEW_ROWS\w*", imported[1]))
    return limits


def few_row_limits() -> list[str]:
    """Return the limits of all twins, as dotted names."""
    names = modules_with_limits()
    return [f"{module}.{limit}" for module in TWINS for limit in names[module]]
