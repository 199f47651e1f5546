"""The error for a failure of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

_OF_SPARK: Final = frozenset({"pyspark", "py4j", "grpc"})

_DETAILS: Final = "details = "
"""The beginning of the line with the reason of a call of a Spark Connect server that has failed."""


def is_of_spark(error: Exception) -> bool:
    """Return whether an error is a failure of Spark, or the end of its Java process."""
    return isinstance(error, ConnectionError) or type(error).__module__.split(".")[0] in _OF_SPARK


def spark_error(error: Exception, remedy: str, reasons: Sequence[str] = ()) -> FsqlError:
    """Return the error for a failure of Spark; `reasons` are notes besides that of the failure."""
    text = without_secrets(_text(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    details = [line.removeprefix(_DETAILS) for line in lines if line.startswith(_DETAILS)]
    notes = details[:1] or (["; ".join(lines[:2])] if lines else [])
    message = "Spark has failed"
    return FsqlError([Diagnostic("E661", message, notes=(*notes, *reasons), helps=(remedy,))])


def _text(error: Exception) -> str:
    """Return the text of an error; that of an exception of Java is asked of the Java process."""
    java_exception = getattr(error, "java_exception", None)
    try:
        return str(error if java_exception is None else java_exception)
    except Exception as failure:
        if not is_of_spark(failure):
            raise
        return "its Java process has ended"
