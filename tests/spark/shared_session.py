"""One Java process of Spark for several Python processes: a test kills its own, and not the Java process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS: Final = 3
"""Into how many partitions the session of tests shuffles."""


def address_of(session: SparkSession) -> dict[str, str]:
    """Return the environment variables with which another process uses a session by `attach`."""
    found = session.sparkContext._gateway.gateway_parameters  # type: ignore[union-attr]
    return {"PYSPARK_GATEWAY_PORT": str(found.port), "PYSPARK_GATEWAY_SECRET": found.auth_token}


def attach() -> SparkSession:
    """Return the session whose address is in the environment."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    context = gateway.jvm.JavaSparkContext.fromSparkContext(running)
    conf = SparkConf(_jconf=context.getConf())
    return SparkSession(SparkContext(conf=conf, gateway=gateway, jsc=context))
