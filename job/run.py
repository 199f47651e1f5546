"""Runs a compiled job: opens its outputs and executes it.

Sources are opened earlier, because a plan depends on the number of splits (`planning`); outputs are opened
last, because opening one may empty its file.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from fsql.job.outputs import open_outputs
from fsql.job.planning import check_ends, choose_plan, insert_limits
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.drivers.operator_times import OperatorTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.connectors.context import OutputStream
    from fsql.job.compilation import Compiled
    from fsql.job.planning import RunOptions
    from fsql.job.sources import Splits
    from fsql.runtime.dataflow.barrier import Stopped
    from fsql.runtime.dataflow.metrics import Metrics


class Run(Protocol):
    """One run of a job, on either engine."""

    @property
    def metrics(self) -> Metrics:
        """Return the metrics so far."""

    @property
    def stopped(self) -> Stopped | None:
        """Return where and why the job stopped; None if it did not."""

    def run(self, on_progress: Callable[[Metrics], None]) -> Metrics:
        """Run until the end of the input or until the job stops."""


@contextmanager
def open_run(
    compiled: Compiled,
    splits: Splits,
    options: RunOptions,
    stdout: OutputStream | None = None,
) -> Iterator[Run]:
    """Open the outputs of the job and return a run of it; close everything at the end.

    `stdout` replaces standard output.

    Raises:
        FsqlError: E534, if the engine cannot read the input; E644 or E663, if it is Spark, and Java or a
            package for it is missing; E532 to E535, E540 or E542, if an output cannot be opened, or closed.
    """
    # What is refused has not changed any output.
    if options.model:
        check_ends(compiled, splits, "model")
    elif options.spark is not None:
        from fsql.job.spark import check_sources, partitions_of, spark_run
        from fsql.runtime.drivers.spark.session import check_spark, spark_session

        check_sources(compiled, splits)
        check_spark(options.spark)
    with open_outputs(compiled, splits, options.existing, stdout) as outputs:
        edges = Edges(splits, outputs)
        if options.spark is not None:
            session = partial(spark_session, options.spark, partitions_of(options))
            yield spark_run(compiled, splits, options, edges, session)
        elif options.model:
            from fsql.runtime.drivers.model_run import ModelRun  # the model is rarely used

            yield ModelRun(compiled.graph, edges, options.workers)
        else:
            yield LocalRun(
                choose_plan(compiled, splits, options),
                edges,
                options.read_ahead_rows,
                options.chunk_rows,
                instrument=OperatorTimes(),
                insert_limits=insert_limits(compiled, splits),
            )
