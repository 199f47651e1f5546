"""Tables that CREATE TABLE AS writes to topics: the key of the query is that of the messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.kafka.broker import Broker


def run(tmp_path: Path, script: str) -> str:
    """Return what a script prints; it must succeed."""
    path = tmp_path / "job.sql"
    path.write_text(script)
    result = fsql("run", "-q", path)
    assert (result.code, result.err) == (0, "")
    return result.out


def test_the_key_of_a_query_is_that_of_its_messages(tmp_path: Path, broker: Broker) -> None:
    topic, one, two = (broker.new_topic() for _ in range(3))
    broker.send(topic, b'{"k":"a","n":1}', b'{"k":"b","n":2}', b'{"k":"a","n":1}')
    named = f"servers = '{broker.servers}', value_format = 'JSON', ends = 'latest'"
    run(
        tmp_path,
        f"""
        CREATE STREAM s (k STRING, n BIGINT) WITH (kafka_topic = '{topic}', {named});
        CREATE TABLE one WITH (kafka_topic = '{one}', {named}) AS
            SELECT k, COUNT(*) AS c FROM s GROUP BY k EMIT CHANGES;
        CREATE TABLE two WITH (kafka_topic = '{two}', key_format = 'JSON', {named}) AS
            SELECT n, k, COUNT(*) AS c FROM s GROUP BY k, n EMIT CHANGES;
        """,
    )
    out = run(
        tmp_path,
        f"CREATE TABLE m (k STRING PRIMARY KEY, c BIGINT) WITH (kafka_topic = '{one}', {named});"
        "SELECT * FROM m;",
    )
    assert out == (
        '{"op":"+I","k":"a","c":1}\n'
        '{"op":"+I","k":"b","c":1}\n'
        '{"op":"-U","k":"a","c":1}\n'
        '{"op":"+U","k":"a","c":2}\n'
    )
    out = run(
        tmp_path,
        "CREATE TABLE m (k STRING, n BIGINT, c BIGINT, PRIMARY KEY (k, n))"
        f" WITH (kafka_topic = '{two}', key_format = 'JSON', {named}); SELECT * FROM m;",
    )
    assert out == (
        '{"op":"+I","k":"b","n":2,"c":1}\n'
        '{"op":"+I","k":"a","n":1,"c":1}\n'
        '{"op":"-U","k":"a","n":1,"c":1}\n'
        '{"op":"+U","k":"a","n":1,"c":2}\n'
    )
