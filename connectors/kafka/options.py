"""The options of connector `kafka`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    FORMAT,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    Effect,
    Layout,
    Option,
    OptionKind,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION

CONNECTOR: Final = Connector(
    "kafka",
    "a topic of Apache Kafka; needs `pip install 'fsql[kafka]'`",
    reads=True,
    writes=True,
    rows_are_messages=True,
    options=(
        Option(
            "servers",
            OptionKind.TEXT,
            "addresses of brokers, `HOST:PORT`, separated by commas",
            required=True,
            elsewhere=("bootstrap.servers",),
            effect=Effect.PACE,
        ),
        Option(
            "topic", OptionKind.TEXT, "name of the topic", required=True, elsewhere=("kafka_topic",)
        ),
        FORMAT,
        Option(
            "start",
            OptionKind.CHOICE,
            "where a new job begins: with the oldest message of each partition, or with the first that comes"
            " after its start",
            ("earliest", "latest"),
            default="earliest",
        ),
        Option(
            "ends",
            OptionKind.CHOICE,
            "whether the input ends where the topic ends when the job starts",
            ("never", "latest"),
            default="never",
        ),
        Option(
            "properties",
            OptionKind.TEXT,
            "file with properties of the Kafka client, such as those for TLS and SASL; see below",
            effect=Effect.PACE,
        ),
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *CHANGE_OPTIONS,
        *CLOCK_OPTIONS,
        LOG_OPTION,
    ),
    layouts=(Layout.LINES,),
    formats=("json", "text", "debezium-json"),
    logs_arrival=True,
    notes="""\
**Reading.** The value of each message is a record.  The format is `json`, `debezium-json` or `text`; a text
with line ends is several rows.  All partitions of the topic are one split, whose rows are numbered as they
are received: messages of one partition in their order, those of several partitions as they come.  A job
that keeps state writes what it reads to its state directory first, with the offsets up to which it has
read.  So a job that continues has the same rows in the same order, and messages may expire once they are
read.  Offsets are not committed to the brokers, and jobs do not share a topic as members of a consumer
group.  Partitions that are added later are read from their beginning.  Messages of transactions are read
when these are committed.

With event time, messages of one partition that come after later ones of another partition can be late:
declare a WATERMARK with enough delay.

With `'changes' = 'upsert'`, a message without a value deletes the row of its key.  The key of the message
is a JSON object with the columns of the PRIMARY KEY.  In other tables a message without a value is a
malformed row; in format `debezium-json` it is passed over, since it follows a change event that deletes the
row.

**Metadata columns** of messages of format `json`, with the names of Flink:

    CREATE TABLE clicks (
        page STRING,
        at TIMESTAMP(3) METADATA FROM 'timestamp',
        number BIGINT METADATA FROM 'offset' VIRTUAL,
        WATERMARK FOR at AS at - INTERVAL '5' SECOND
    ) WITH ('connector' = 'kafka', 'servers' = 'localhost:9092', 'topic' = 'clicks');

`topic`, `partition`, `offset`, `timestamp` (NULL if the message has none), `timestamp-type`, `headers` (the
last of several with one name) and `key`, a STRING or BYTES, which may be NULL.  They are not written: a table
that is written has its other columns only.

**Writing.** Each row is a message of format `json`.  If the table has a PRIMARY KEY, or the query a key,
the columns of the key are a JSON object in the key of the message, and determine its partition, as they do
for other producers (`murmur2`).  Rows without a key are written to partition 0, in their order.  In a table
with a PRIMARY KEY a message has the row, and a message without a value deletes it, so the topic can be
compacted; other tables with changes have the field `op`.

Rows are written in transactions of all that is due.  A job that keeps state writes each row once: the
transactions have the name of the job and the table, so that an older process can write no more, and each
message has the position of its row in the header `fsql`, by which a job that continues finds the rows that
it has written before it was killed.  Consumers should read with `isolation.level=read_committed`.  The
journal of offsets belongs to the state of the job: rows that expire are not written again.

The connector is tested with the broker that librdkafka simulates, which keeps transactions only in part: it
was not tried with a real one.

**Properties.** The file of `properties` has lines `NAME=VALUE`, with the names of librdkafka, for example:

    security.protocol=SASL_SSL
    sasl.mechanisms=PLAIN
    sasl.username=fsql
    sasl.password=secret
    ssl.ca.location=ca.pem

Names that begin with `sasl.`, `ssl.`, `socket.`, `fetch.` or `client.` are possible, and
`security.protocol`, `broker.address.family` and `receive.message.max.bytes`.
""",
)
