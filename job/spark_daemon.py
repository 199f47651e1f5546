"""The process from which Spark forks its Python processes: it has imported what tasks of fsql use.

Spark executes this module on each of its machines.  Otherwise each Python process would import the compiler
and the kernels by itself, and pandas, which pyarrow imports where it is installed.  What is imported is
frozen, since a Python process of Spark collects garbage after each task.
"""

from __future__ import annotations

import gc
import importlib
from typing import Final

from fsql.runtime.hidden_pandas import hide_pandas, show_pandas

_MODULES: Final = (
    "pyspark.worker",
    "fsql.formats.csv.decoder",
    "fsql.formats.json.decoder",
    "fsql.job.spark",
    "fsql.runtime.drivers.spark.stage_frames",
)
"""What tasks import late."""


def _main() -> None:
    import pyarrow as pa
    from pyspark.daemon import manager

    hide_pandas()
    for name in _MODULES:
        importlib.import_module(name)
    pa.array([0])  # here pyarrow looks for pandas, once
    show_pandas()
    gc.freeze()
    manager()


if __name__ == "__main__":
    _main()
