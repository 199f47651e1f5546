"""A Spark session: finds Java, keeps Spark's own messages in a log file, and listens on the loopback only."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.drivers.java import find_java
from fsql.runtime.hidden_pandas import show_pandas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from fsql.runtime.drivers.java import Java

_VECTOR_MODULE: Final = "jdk.incubator.vector"
"""Spark's launcher asks for this module, which some Java runtimes lack; Spark runs without it."""

_WITHOUT_MODULE: Final = """#!/bin/sh
for argument do
    shift
    case "$argument" in --add-modules=*) ;; *) set -- "$@" "$argument" ;; esac
done
exec "{java}" "$@"
"""

_LOGGING: Final = """rootLogger.level = warn
rootLogger.appenderRef.log.ref = log
appender.log.type = Console
appender.log.name = log
appender.log.target = SYSTEM_ERR
appender.log.layout.type = PatternLayout
appender.log.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""

_OF_SPARK: Final = frozenset({"pyspark", "py4j"})
_REASON_PREFIX: Final = 'Exception in thread "main"'
"""The beginning of the line in which Spark's launcher reports why it has ended."""

_BLOBS_PER_BATCH: Final = 16
"""Rows are whole batches of fsql, so Spark hands over few of them at once."""

FAILED_PREFIX: Final = "fsql-spark-failed-"
"""The beginning of the names of folders with the logs of failed sessions, among temporary files."""

FAILED_MAX: Final = 5
"""How many of these folders are kept: a service whose Spark keeps failing would fill the disk."""

_DAEMON: Final = "fsql.job.spark_daemon"
"""The module from whose process Spark forks its Python processes."""


@contextmanager
def spark_session(master: str, partitions: int) -> Iterator[SparkSession]:
    """Start Spark at a master URL, for shuffles into `partitions` partitions; stop it at the end.

    Its log is removed at the end, unless Spark has failed: the last `FAILED_MAX` such logs are kept.

    Raises:
        FsqlError: E644, if there is no Java; E661, if Spark does not start or fails.
    """
    java = find_java()
    folder = Path(tempfile.mkdtemp(prefix="fsql-spark-"))
    session = None
    try:
        try:
            session = _start(master, partitions, java, folder)
            yield session
        finally:
            _stop(session)
    except FsqlError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except Exception as error:
        if not _is_of_spark(error):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        raise spark_error(error, keep_log(folder)) from None
    else:
        shutil.rmtree(folder, ignore_errors=True)


def keep_log(folder: Path) -> Path:
    """Remove the folder of a failed session but for its log; return where the log is now.

    The oldest logs of earlier failures of this user are removed.
    """
    kept = Path(tempfile.mkdtemp(prefix=FAILED_PREFIX))
    log = (folder / "spark.log").replace(kept / "spark.log")
    shutil.rmtree(folder, ignore_errors=True)
    failed = []
    for each in kept.parent.glob(f"{FAILED_PREFIX}*"):
        with suppress(OSError):  # another process may remove it at the same time
            status = each.lstat()
            if status.st_uid == os.getuid() and each != kept:
                failed.append((status.st_mtime_ns, each))
    for _, each in sorted(failed, reverse=True)[FAILED_MAX - 1 :]:
        shutil.rmtree(each, ignore_errors=True)
    return log


def spark_error(error: Exception, log: Path) -> FsqlError:
    """Return the error for a failure of Spark, with the most informative line of its output."""
    java_exception = getattr(error, "java_exception", None)
    text = str(error if java_exception is None else java_exception)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    notes = ["; ".join(lines[:2])] if lines else []
    notes += [
        line
        for line in log.read_text(errors="replace").splitlines()
        if line.startswith(_REASON_PREFIX)
    ][-1:]
    helps = (f"read {log}",)
    return FsqlError([Diagnostic("E661", "Spark has failed", notes=tuple(notes), helps=helps)])


def _is_of_spark(error: Exception) -> bool:
    """Return whether an error is a failure of Spark, or the end of its Java process."""
    return isinstance(error, ConnectionError) or type(error).__module__.split(".")[0] in _OF_SPARK


def _start(master: str, partitions: int, java: Java, folder: Path) -> SparkSession:
    show_pandas()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    (folder / "log4j2.properties").write_text(_LOGGING)
    os.environ["JAVA_HOME"] = str(_home_for_spark(java, folder))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Spark starts Python with -m, which would look for modules in the working directory.
    os.environ["PYTHONSAFEPATH"] = "1"
    settings = {
        "spark.master": master,
        "spark.app.name": "fsql",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BLOBS_PER_BATCH),
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.python.daemon.module": _DAEMON,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    with (folder / "spark.log").open("ab") as log:
        gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    with _own_handler_of_interrupts():
        SparkContext(conf=conf, gateway=gateway)
    return SparkSession.builder.getOrCreate()


@contextmanager
def _own_handler_of_interrupts() -> Iterator[None]:
    """Restore the handler of Ctrl-C: that of Spark calls Java, where another call may be in progress."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _stop(session: SparkSession | None) -> None:
    """Stop Spark and its Java process, and let a later session start a new one."""
    from pyspark import SparkContext

    if session is not None:
        with suppress(Exception):  # its Java process may have ended
            session.stop()
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no other way to end it
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
        gateway.proc.stdin.close()  # the process ends when its standard input does
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001


def _home_for_spark(java: Java, folder: Path) -> Path:
    """Return a Java home with which Spark starts: with a wrapper of `java`, if it lacks a module."""
    answer = subprocess.run(  # noqa: S603 - the user's own Java
        [str(java.command), "--list-modules"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if _VECTOR_MODULE in answer.stdout:
        return java.home
    command = folder / "java" / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(_WITHOUT_MODULE.format(java=java.command))
    command.chmod(0o700)
    return command.parent.parent
