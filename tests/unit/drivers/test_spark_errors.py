"""Errors of Spark whose Java process has ended: nobody can be asked for their text any more."""

from pathlib import Path

from fsql.runtime.drivers.spark.errors import spark_error
from fsql.runtime.drivers.spark.session import reasons_in, remedy_of


class _JavaGoneError(Exception):
    """As an error of py4j: its text is asked of the Java process."""

    def __init__(self) -> None:
        super().__init__()
        self.java_exception = self

    def __str__(self) -> str:
        raise ConnectionRefusedError(111, "Connection refused")


def test_an_error_without_a_text_is_still_a_failure_of_spark() -> None:
    (diagnostic,) = spark_error(_JavaGoneError(), "read spark.log", ["why"]).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E661", "Spark has failed")
    assert diagnostic.notes == ("its Java process has ended", "why")
    assert diagnostic.helps == ("read spark.log",)


def test_the_reason_is_taken_from_the_log(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(
        "26/01/01 12:00:00 WARN Utils: Set SPARK_LOCAL_IP\n"
        "26/01/01 12:01:00 ERROR StandaloneSchedulerBackend: Application has been killed."
        " Reason: All masters are unresponsive! Giving up.\n"
        "26/01/01 12:01:01 WARN ClientEndpoint: Drop UnregisterApplication(null)\n"
    )
    assert reasons_in(log) == ["All masters are unresponsive! Giving up."]
    log.write_text('Exception in thread "main" java.lang.Error: a\n\tat a.b\n')
    assert reasons_in(log) == ['Exception in thread "main" java.lang.Error: a']
    log.write_text("nothing\n")
    assert reasons_in(log) == []


def test_java_without_memory_has_a_remedy(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(
        "26/01/01 12:00:00 ERROR Executor: Exception in task 0.0 in stage 0.0 (TID 0)\n"
        "java.lang.OutOfMemoryError: Java heap space\n"
        "\tat a.b\n"
        "26/01/01 12:00:01 WARN BlockManager: Putting block rdd_5_1 failed\n"
    )
    reasons = reasons_in(log)
    assert reasons == ["java.lang.OutOfMemoryError: Java heap space"]
    remedy = "give Java more memory, SPARK_DRIVER_MEMORY=8g in the environment; read "
    assert remedy_of(log, reasons) == f"{remedy}{log}"
    assert remedy_of(log, []) == f"read {log}"
