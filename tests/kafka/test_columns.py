"""Columns that are not in the value of messages: metadata, and those of the key."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql, process
from fsql.tests.cluster.twin import wait_until
from fsql.tests.kafka.killed_runs import kill

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.kafka.broker import Broker

AT = 1_767_225_600_000
"""2026-01-01 00:00:00 in milliseconds."""


def table(broker: Broker, name: str, columns: str, topic: str, options: str = "") -> str:
    return (
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'kafka', 'servers' = '{broker.servers}',"
        f" 'topic' = '{topic}'{options});\n"
    )


def run(tmp_path: Path, script: str) -> str:
    """Return what a script prints; it must succeed."""
    path = tmp_path / "job.sql"
    path.write_text(script)
    result = fsql("run", "-q", path)
    assert (result.code, result.err) == (0, "")
    return result.out


ENDS = ", 'ends' = 'latest'"


def test_metadata_of_messages(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("b", None), ("a", b"hi")]
    broker.send(topic, b'{"n":1,"offset":"own"}', partition=2, timestamp=AT, headers=headers)
    broker.send(topic, b' {\n"n":2 }', b"{}", key=b'k "1"', partition=2, timestamp=AT + 1)
    columns = (
        "topic STRING METADATA VIRTUAL, n BIGINT, part INT METADATA FROM 'partition', `offset` STRING,"
        " place BIGINT METADATA FROM 'offset', at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',"
        " plain TIMESTAMP(3) METADATA FROM 'timestamp', `timestamp-type` STRING METADATA,"
        " headers MAP<STRING, BYTES> METADATA, next AS place + 1, key STRING METADATA,"
        " raw BYTES METADATA FROM 'key'"
    )
    written = table(broker, "t", columns, topic, ENDS)
    out = run(tmp_path, written + "SELECT * FROM t;")
    rows = [
        {
            "topic": topic,
            "n": n,
            "part": 2,
            "offset": own,
            "place": place,
            "at": f"2026-01-01T00:00:00.00{fraction}Z",
            "plain": f"2026-01-01T00:00:00.00{fraction}Z",
            "timestamp-type": "CreateTime",
            "headers": texts,
            "next": place + 1,
            "key": key,
            "raw": raw,
        }
        for place, n, own, fraction, texts, key, raw in [
            (0, 1, "own", 0, {"a": "aGk=", "b": None}, None, None),
            (1, 2, None, 1, {}, 'k "1"', "ayAiMSI="),
            (2, None, None, 1, {}, 'k "1"', "ayAiMSI="),
        ]
    ]
    assert [json.loads(line) for line in out.splitlines()] == rows


def test_columns_of_include_are_those_of_metadata(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    headers: list[tuple[str, str | bytes | None]] = [("a", b"hi")]
    broker.send(topic, b'{"n":1}', partition=2, key=b"k", timestamp=AT, headers=headers)
    keys = ("timestamp AS ts", "key AS k", "partition", "offset", "header AS h")
    included = "".join(f" INCLUDE {key}" for key in keys)
    script = table(broker, "t", "n BIGINT", topic, ENDS).replace(" WITH", f"{included} WITH", 1)
    assert run(tmp_path, f"{script}SELECT * FROM t;") == (
        '{"n":1,"ts":"2026-01-01T00:00:00Z","k":"aw==","_rw_kafka_partition":2,'
        '"_rw_kafka_offset":0,"h":{"a":"aGk="}}\n'
    )


@pytest.mark.parametrize(
    ("value", "key", "reason"),
    [
        (b"[1]", None, "the record is an array, not an object"),
        (b'{"n":1}', b"\xff", "0xff, is not UTF-8; it reads as cp1252"),
        (b'{"n":1,"kafka:0:offset":7}', None, 'the key "kafka:0:offset" occurs twice'),
    ],
)
def test_malformed_messages_of_tables_with_metadata(
    tmp_path: Path, broker: Broker, value: bytes, key: bytes | None, reason: str
) -> None:
    topic = broker.new_topic()
    broker.send(topic, value, key=key)
    broker.send(topic, b'{"n":2}')
    columns = "n BIGINT, place BIGINT METADATA FROM 'offset', k STRING METADATA FROM 'key'"
    options = f"{ENDS}, 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'"
    written = table(broker, "t", columns, topic, options)
    assert run(tmp_path, f"{written}SELECT n, place FROM t;") == '{"n":2,"place":1}\n'
    assert json.loads((tmp_path / "rejects.jsonl").read_text())["reason"].endswith(reason)


def test_the_timestamp_is_event_time(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    for minute in (0, 0, 1, 3):
        broker.send(topic, b'{"n":1}', timestamp=AT + minute * 60_000)
    columns = (
        "n BIGINT, at TIMESTAMP(3) METADATA FROM 'timestamp',"
        " WATERMARK FOR at AS at - INTERVAL '1' SECOND"
    )
    out = run(
        tmp_path,
        table(broker, "t", columns, topic, ENDS + ", 'max_ahead' = 'none'")
        + "SELECT window_start, SUM(n) AS n FROM TUMBLE(t, at, INTERVAL '1' MINUTE) GROUP BY window_start;",
    )
    assert out == (
        '{"window_start":"2026-01-01T00:00:00Z","n":2}\n'
        '{"window_start":"2026-01-01T00:01:00Z","n":1}\n'
        '{"window_start":"2026-01-01T00:03:00Z","n":1}\n'
    )


def test_text_with_a_key_and_metadata(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    broker.send(topic, b'a"\nb', b"", key="é".encode())
    broker.send(topic, b"c")
    options = (
        f"{ENDS}, 'format' = 'text', 'key.format' = 'raw', 'key.fields' = 'k',"
        " 'value.fields-include' = 'EXCEPT_KEY'"
    )
    columns = "k STRING, line STRING, place BIGINT METADATA FROM 'offset'"
    out = run(tmp_path, table(broker, "t", columns, topic, options) + "SELECT * FROM t;")
    assert out == (
        '{"k":"é","line":"a\\"","place":0}\n'
        '{"k":"é","line":"b","place":0}\n'
        '{"k":"é","line":"","place":1}\n'
        '{"k":null,"line":"c","place":2}\n'
    )


@pytest.mark.parametrize(
    ("columns", "options", "messages", "rows"),
    [
        (
            "n BIGINT, key_k STRING, key_i INT",
            (
                ", 'key.format' = 'json', 'key.fields' = 'key_k;key_i', 'key.fields-prefix' = 'key_',"
                " 'value.fields-include' = 'EXCEPT_KEY', 'value.format' = 'json'"
            ),
            [
                (b'{"k":"a",\n"i":1,"more":[1]}', b'{"n":1,"k":"own"}'),
                (b"{}", b'{"n":2}'),
                (None, b"{}"),
            ],
            [(1, "a", 1), (2, None, None), (None, None, None)],
        ),
        (
            "n BIGINT, k STRING",
            ", 'key.format' = 'json', 'key.fields' = 'k'",
            [(b'{"k":"key"}', b'{"n":1,"k":"value"}'), (b'{"k":"key"}', b'{"n":2}')],
            [(1, "value"), (2, None)],
        ),
        (
            "n BIGINT, k BIGINT",
            ", 'key.format' = 'raw', 'key.fields' = 'k', 'value.fields-include' = 'EXCEPT_KEY'",
            [(b"\0\0\0\0\0\0\1\2", b'{"n":1}'), (b"\xff" * 8, b'{"n":2}')],
            [(1, 258), (2, -1)],
        ),
        (
            "n BIGINT, k DOUBLE",
            ", 'key.format' = 'raw', 'key.fields' = 'k', 'value.fields-include' = 'EXCEPT_KEY'",
            [(b"\x3f\xf8\0\0\0\0\0\0", b'{"n":1}')],
            [(1, 1.5)],
        ),
        (
            "n BIGINT, k STRING",
            ", 'key.format' = 'json-value', 'key.fields' = 'k', 'value.fields-include' = 'EXCEPT_KEY'",
            [(b'"a"', b'{"n":1}'), (b"null", b'{"n":2}')],
            [(1, "a"), (2, None)],
        ),
    ],
    ids=["json with a prefix", "json in the value, too", "raw BIGINT", "raw DOUBLE", "json value"],
)
def test_columns_of_the_key(
    tmp_path: Path,
    broker: Broker,
    columns: str,
    options: str,
    messages: list[tuple[bytes | None, bytes]],
    rows: list[tuple[object, ...]],
) -> None:
    topic, copy = broker.new_topic(), broker.new_topic()
    for key, value in messages:
        broker.send(topic, value, key=key)
    out = run(tmp_path, table(broker, "t", columns, topic, ENDS + options) + "SELECT * FROM t;")
    assert [tuple(json.loads(line).values()) for line in out.splitlines()] == rows
    # What is written with the same options is read again, row by row.
    run(
        tmp_path,
        table(broker, "t", columns, topic, ENDS + options)
        + table(broker, "w", columns, copy, options)
        + "INSERT INTO w SELECT * FROM t;",
    )
    out = run(tmp_path, table(broker, "t", columns, copy, ENDS + options) + "SELECT * FROM t;")
    read = [tuple(json.loads(line).values()) for line in out.splitlines()]
    assert sorted(read, key=repr) == sorted(rows, key=repr)


def test_a_malformed_key_is_a_malformed_row(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    for key in (b'{"k":1}', b"{", b"1", b'{"k":"x"}', b'{"k":2}'):
        broker.send(topic, b'{"n":1}', key=key)
    options = (
        ENDS + ", 'key.format' = 'json', 'key.fields' = 'k', 'value.fields-include' = 'EXCEPT_KEY'"
        ", 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'"
    )
    out = run(
        tmp_path, table(broker, "t", "k BIGINT, n BIGINT", topic, options) + "SELECT * FROM t;"
    )
    assert out == '{"k":1,"n":1}\n{"k":2,"n":1}\n'
    rejects = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [(each["line"], each["code"], each["excerpt"]) for each in rejects] == [
        (2, "FSQL-E511", "malformed key: {"),
        (3, "FSQL-E511", "malformed key: 1"),
        (4, "FSQL-E513", '{"k of the key":"x","n":1}'),
    ]


def test_upserts_whose_values_lack_the_key(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    for key, value in [(b"a", b'{"n":1}'), (b"b", b'{"n":2}'), (b"a", None), (b"b", b'{"n":3}')]:
        broker.send(topic, value, key=key, timestamp=AT)
    script = (
        "CREATE TABLE t (k STRING, n BIGINT, place BIGINT METADATA FROM 'offset' VIRTUAL,"
        " PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',"
        f" 'properties.bootstrap.servers' = '{broker.servers}', 'topic' = '{{topic}}',"
        " 'key.format' = 'raw', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY',"
        " 'ends' = 'latest');\n"
    )
    out = run(tmp_path, script.format(topic=topic) + "SELECT * FROM t;")
    relation: dict[str, tuple[int, int]] = {}
    for line in out.splitlines():
        change = json.loads(line)
        if change["op"] in {"-U", "-D"}:
            del relation[change["k"]]
        else:
            relation[change["k"]] = change["n"], change["place"]
    assert relation == {"b": (3, 3)}
    copy = broker.new_topic()
    run(
        tmp_path,
        script.format(topic=topic)
        + script.format(topic=copy).replace("TABLE t", "TABLE w")
        + "INSERT INTO w SELECT k, n FROM t;",
    )
    out = run(tmp_path, script.format(topic=copy) + "SELECT k, n FROM t;")
    assert [json.loads(line) for line in out.splitlines()][-1]["n"] == 3


def test_ksqldb_keys_are_only_in_the_key(tmp_path: Path, broker: Broker) -> None:
    topic = broker.new_topic()
    broker.send(topic, b'{"v":1}', key=b"a")
    broker.send(topic, None, b'{"v":2}', key=b"b")
    named = f"kafka_topic = '{topic}', servers = '{broker.servers}', value_format = 'JSON', ends = 'latest'"
    out = run(
        tmp_path,
        f"CREATE TABLE t (id STRING PRIMARY KEY, v BIGINT) WITH ({named});\nSELECT * FROM t;",
    )
    assert out == '{"op":"+I","id":"a","v":1}\n{"op":"+I","id":"b","v":2}\n'
    out = run(
        tmp_path,
        f"CREATE STREAM s (id STRING KEY, v BIGINT) WITH ({named}, on_error = 'reject');\n"
        "SELECT * FROM s;",
    )
    assert out == '{"id":"a","v":1}\n{"id":"b","v":2}\n'


def test_timestamps_and_headers_are_written(tmp_path: Path, broker: Broker) -> None:
    topic, copy = broker.new_topic(), broker.new_topic()
    broker.send(topic, b'{"n":1}', timestamp=AT, headers=[("a", b"hi"), ("fsql", b"other")])
    broker.send(topic, b'{"n":2}', timestamp=AT + 60_000)
    columns = (
        "at TIMESTAMP(3) METADATA FROM 'timestamp', n BIGINT, h MAP<STRING, BYTES> METADATA FROM 'headers',"
        " place BIGINT METADATA FROM 'offset' VIRTUAL"
    )
    read = table(broker, "t", columns, topic, ENDS)
    run(
        tmp_path,
        read + table(broker, "w", columns, copy) + "INSERT INTO w SELECT at, n + 1, h FROM t;",
    )
    out = run(
        tmp_path, table(broker, "t", columns, copy, ENDS) + "SELECT at, n, h['a'] AS a FROM t;"
    )
    assert out == (
        '{"at":"2026-01-01T00:00:00.000Z","n":2,"a":"aGk="}\n'
        '{"at":"2026-01-01T00:01:00.000Z","n":3,"a":null}\n'
    )


def send_rows(broker: Broker, topic: str, sent: list[dict[str, object]], count: int) -> None:
    """Send rows to three partitions, and add what is read of each to `sent`."""
    for number in range(len(sent), len(sent) + count):
        place, partition = divmod(number, 3)
        broker.send(
            topic,
            b'{"n":%d}' % number,
            key=b'{"k":%d}' % (number % 5),
            partition=partition,
            timestamp=AT + 1000 * number,
        )
        at = f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z"
        row = {"k": number % 5, "n": number, "place": place, "part": partition, "at": at}
        sent.append(row)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_a_job_that_is_killed_has_each_row_once(
    tmp_path: Path, broker: Broker, flags: tuple[str, ...]
) -> None:
    topic, target, script = broker.new_topic(), broker.new_topic(), tmp_path / "job.sql"
    keyed = ", 'key.format' = 'json', 'key.fields' = 'k', 'value.fields-include' = 'EXCEPT_KEY'"
    read = (
        "k BIGINT, n BIGINT, place BIGINT METADATA FROM 'offset' VIRTUAL,"
        " part INT METADATA FROM 'partition' VIRTUAL, at TIMESTAMP(3) METADATA FROM 'timestamp'"
    )
    written = (
        "k BIGINT, n BIGINT, place BIGINT, part INT, at TIMESTAMP(3) METADATA FROM 'timestamp'"
    )
    script.write_text(
        table(broker, "t", read, topic, keyed)
        + table(broker, "w", written, target, keyed)
        + "INSERT INTO w SELECT k, n, place, part, at FROM t; SELECT k, n FROM t;"
    )
    sent: list[dict[str, object]] = []

    def rows() -> list[dict[str, object]]:
        check = tmp_path / "check.sql"
        check.write_text(
            table(broker, "w", written, target, keyed + ENDS)
            + "SELECT k, n, place, part, at FROM w;"
        )
        read = [json.loads(line) for line in fsql("run", "-q", check).out.splitlines()]
        return sorted(read, key=lambda row: row["n"])

    for attempt in range(3):
        with process("run", "-q", "--state", str(tmp_path / "state"), *flags, str(script)) as job:
            send_rows(broker, topic, sent, 12)
            due = {each["n"] for each in sent[-12:]}
            assert job.stdout is not None
            while due:
                due.discard(json.loads(job.stdout.readline())["n"])
            if attempt < 2:
                kill(job)
                send_rows(broker, topic, sent, 5)
            else:
                wait_until(lambda: len(rows()) >= len(sent), "all rows")
                job.send_signal(signal.SIGINT)
    assert rows() == sent
