"""A Spark session: finds Java, keeps Spark's own messages in a log file, and listens on the loopback only."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from fsql.runtime.drivers.java import find_java
from fsql.runtime.drivers.spark.connect import (
    BLOBS_PER_BATCH,
    check_client,
    connect_session,
    is_connect,
)
from fsql.runtime.drivers.spark.errors import is_of_spark, spark_error
from fsql.runtime.drivers.spark.folders import LOG, keep_log, session_folder
from fsql.runtime.drivers.spark.waiting import (
    ABANDON_SECONDS,
    STOP_SECONDS,
    Waiting,
    nothing,
    within,
)
from fsql.runtime.hidden_pandas import show_pandas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

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

_REASON: Final = re.compile(
    r'^Exception in thread "main".*|(?<=Application has been killed\. Reason: ).*'
    r"|^java\.lang\.OutOfMemoryError.*",
    re.MULTILINE,
)
"""Why Spark's launcher or its Java process has ended, or why its master has ended the application."""

_DAEMON: Final = "fsql.job.spark_daemon"
"""The module from whose process Spark forks its Python processes."""

_ADDRESS: Final = "gateway"
"""The file in which the Java process writes its port and its secret."""
_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 - the name of a variable
_LOOK_SECONDS: Final = 0.1

_ABANDONED: Final = "Exception while sending command."
"""What Py4J logs, with a stack trace, for each call in progress when the Java process ends."""


@contextmanager
def spark_session(
    master: str, partitions: int, meanwhile: Callable[[], None] = nothing
) -> Iterator[SparkSession]:
    """Start Spark at a master URL, for shuffles into `partitions` partitions; stop it at the end.

    `meanwhile` is called several times a second while it starts, and may raise an error.  After an error,
    Spark is stopped within some seconds, whatever it does.  The log is removed at the end, unless Spark has
    failed: the last `FAILED_MAX` such logs are kept.

    Raises:
        FsqlError: E644, if there is no Java; E661, if Spark does not start or fails; E663, if packages for
            Spark Connect are missing.
    """
    if is_connect(master):
        with connect_session(master, partitions, meanwhile) as session:
            yield session
        return
    java = find_java()
    with session_folder() as folder:
        try:
            settings = _settings(master, partitions, folder)
            process = _start_java(settings, java, folder)
            with _end_of(process, master):
                with Waiting(meanwhile) as waiting:
                    session = waiting.for_result(lambda: _connect(process, settings, folder))
                yield session
        except Exception as error:
            if not is_of_spark(error):
                raise
            log = keep_log(folder)
            reasons = reasons_in(log)
            raise spark_error(error, remedy_of(log, reasons), reasons) from None


def check_spark(master: str) -> None:
    """Check that this machine has what Spark at a master URL needs here.

    Raises:
        FsqlError: E644, if there is no Java; E663, if packages of the client are missing.
    """
    if is_connect(master):
        check_client()
    else:
        find_java()


def reasons_in(log: Path) -> list[str]:
    """Return the last reason for the end of Spark that a log gives, if there is one."""
    return _REASON.findall(log.read_text(errors="replace"))[-1:]


def remedy_of(log: Path, reasons: Sequence[str]) -> str:
    """Return what to do about the end of Spark, given its log and the reasons in it."""
    if any("OutOfMemoryError" in each for each in reasons):
        return f"give Java more memory, SPARK_DRIVER_MEMORY=8g in the environment; read {log}"
    return f"read {log}"


def _settings(master: str, partitions: int, folder: Path) -> dict[str, str]:
    of_java = (
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        f"-Djava.io.tmpdir={folder}",
        "-XX:-UsePerfData",  # a file of its own among temporary files
    )
    settings = {
        "spark.master": master,
        "spark.app.name": "fsql",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BLOBS_PER_BATCH),
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.python.daemon.module": _DAEMON,
        "spark.driver.extraJavaOptions": " ".join(of_java),
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _start_java(settings: Mapping[str, str], java: Java, folder: Path) -> subprocess.Popen[bytes]:
    """Start the Java process; it ends when its standard input does, so also if this process is killed."""
    show_pandas()
    from pyspark.find_spark_home import _find_spark_home

    (folder / "log4j2.properties").write_text(_LOGGING)
    os.environ["JAVA_HOME"] = str(_home_for_spark(java, folder))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Spark starts Python with -m, which would look for modules in the working directory.
    os.environ["PYTHONSAFEPATH"] = "1"
    of_settings = [part for each in settings.items() for part in ("--conf", "=".join(each))]
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - the launcher of the installed Spark
            [f"{_find_spark_home()}/bin/spark-submit", *of_settings, "pyspark-shell"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            # As PySpark starts it, which would return the process only after its start.
            env={
                **os.environ,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / _ADDRESS),
            },
            process_group=0,  # Ctrl-C is for this process, which ends Spark
        )


def _connect(
    process: subprocess.Popen[bytes], settings: Mapping[str, str], folder: Path
) -> SparkSession:
    """Wait for the Java process, and start Spark in it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.serializers import UTF8Deserializer, read_int
    from pyspark.sql import SparkSession

    path = folder / _ADDRESS
    while not path.is_file():
        if process.poll() is not None:
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        time.sleep(_LOOK_SECONDS)
    with path.open("rb") as address:
        port = read_int(address)  # type: ignore[no-untyped-call]
        secret = UTF8Deserializer().loads(address)  # type: ignore[no-untyped-call]
    os.environ.update({_PORT: str(port), _SECRET: secret})
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


@contextmanager
def _end_of(process: subprocess.Popen[bytes], master: str) -> Iterator[None]:
    """Stop Spark and its Java process at the end, and let a later session start a new one.

    On this machine, nothing is lost when the process is killed: its files are removed with their folder, and
    its Python processes end with it.  Elsewhere a cluster is told, if it answers soon.
    """
    seconds = 0.0 if master.startswith("local") else ABANDON_SECONDS
    logging.getLogger().addFilter(_is_worth_a_message)
    try:
        yield
        seconds = STOP_SECONDS
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark warns that the process has ended
            try:
                if seconds:
                    within(seconds, _stop_context)
            finally:  # also after another signal
                process.kill()
                process.wait()
                assert process.stdin is not None
                process.stdin.close()
                _forget()


def _stop_context() -> None:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - it may not have started completely
    if context is not None:
        context.stop()


def _is_worth_a_message(record: logging.LogRecord) -> bool:
    """Return whether a record is not that of a call that was abandoned when its process was killed."""
    return record.msg != _ABANDONED


def _forget() -> None:
    """Let PySpark forget a session whose Java process has ended."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark would use it for a later session
    with suppress(Exception):
        _stop_context()
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001


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
