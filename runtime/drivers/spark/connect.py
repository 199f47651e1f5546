"""A session of a Spark Connect server: Spark runs there, and this process needs no Java."""

from __future__ import annotations

import logging
import os
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.secrets import without_secrets
from fsql.runtime.drivers.spark.errors import is_of_spark, spark_error
from fsql.runtime.drivers.spark.waiting import (
    ABANDON_SECONDS,
    STOP_SECONDS,
    Waiting,
    nothing,
    within,
)
from fsql.runtime.hidden_pandas import show_pandas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession as PySparkSession

_SCHEME: Final = "sc://"
_PACKAGES: Final = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
"""The packages of Spark's client for Connect, by their modules."""

_IN_USE: Final = "SPARK_CONNECT_MODE_ENABLED"
"""The environment variable by which PySpark's functions make expressions for Connect."""

BLOBS_PER_BATCH: Final = 16
"""Rows are whole batches of fsql, so Spark hands over few of them at once."""

_RETRIES: Final = 6
_FIRST_RETRY_MS: Final = 200
_RETRY_FACTOR: Final = 2.0
"""A server that does not answer any more is given up after 13 s; PySpark would wait for ten minutes."""


def is_connect(master: str) -> bool:
    """Return whether a master URL is that of a Spark Connect server."""
    return master.startswith(_SCHEME)


def check_client() -> None:
    """Check that the packages of the client are installed.

    Raises:
        FsqlError: E663, if one is not.
    """
    missing = [package for module, package in _PACKAGES.items() if not _is_installed(module)]
    if missing:
        message = f"Spark Connect needs packages that are not installed: {', '.join(missing)}"
        helps = ("install fsql with the extra connect: pip install 'fsql[connect]'",)
        raise FsqlError([Diagnostic("E663", message, helps=helps)])


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that would contain it
        return False


@contextmanager
def connect_session(
    url: str, partitions: int, meanwhile: Callable[[], None] = nothing
) -> Iterator[PySparkSession]:
    """Open a session of a server, for shuffles into `partitions` partitions; release it at the end.

    `meanwhile` is called several times a second until it is open, and may raise an error.  After an error,
    its jobs are cancelled.

    Raises:
        FsqlError: E661, if the server cannot be reached, or Spark fails; E663, if a package is missing.
    """
    check_client()
    show_pandas()
    with _in_use():
        shown = without_secrets(url)
        remedy = f"start a Spark Connect server at {shown}, or correct the URL"
        try:
            with Waiting(meanwhile) as waiting:
                session = waiting.for_result(lambda: _open(url, partitions))
            remedy = f"see the log of the Spark Connect server {shown}"
            with _end_of(session):
                yield session
        except Exception as error:
            if not is_of_spark(error):
                raise
            raise spark_error(error, remedy) from None


@contextmanager
def _in_use() -> Iterator[None]:
    """Let PySpark's functions make expressions for Connect, without the messages of its client."""
    before = os.environ.get(_IN_USE)
    os.environ[_IN_USE] = "1"
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    logging.getLogger("pyspark.sql.connect").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # that a server was given up: that is reported as an error
            yield
    finally:
        if before is None:
            del os.environ[_IN_USE]


def _open(url: str, partitions: int) -> PySparkSession:
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession(url)
    session.client.set_retry_policies([])  # a server that is not there is an error immediately
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(BLOBS_PER_BATCH))
    session.client.set_retry_policies([DefaultPolicy(_RETRIES, _RETRY_FACTOR, _FIRST_RETRY_MS)])
    return cast("PySparkSession", session)


@contextmanager
def _end_of(session: PySparkSession) -> Iterator[None]:
    """Release a session at the end; after an error, cancel its jobs."""
    seconds = ABANDON_SECONDS
    try:
        yield
        seconds = STOP_SECONDS
    finally:
        session.client.set_retry_policies([])
        if seconds == ABANDON_SECONDS:
            within(seconds, session.interruptAll)
        within(seconds, session.stop)
        within(seconds, session.client.close)  # also calls that have not returned end now
