"""The options of connector `kafka`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    EXCEPT_KEY,
    FORMAT,
    KEY_FIELDS,
    KEY_FORMAT,
    KEY_PREFIX,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    VALUE_FIELDS,
    Connector,
    Effect,
    InputEnd,
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
    end=InputEnd(ends=False, key="ends", value="latest"),
    rows_are_messages=True,
    has_message_metadata=True,
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
            KEY_FORMAT,
            OptionKind.CHOICE,
            "form of the key of messages, if it has columns: a JSON object, one JSON value, or the bytes of"
            " one column",
            ("json", "json-value", "raw"),
        ),
        Option(
            KEY_FIELDS,
            OptionKind.TEXT,
            "columns in the key of messages, separated by `;`; by default those of the PRIMARY KEY",
        ),
        Option(
            KEY_PREFIX,
            OptionKind.TEXT,
            "beginning of the names of these columns, which the names in the key lack",
        ),
        Option(
            VALUE_FIELDS,
            OptionKind.CHOICE,
            "whether the value of messages has the columns of the key, too",
            ("ALL", EXCEPT_KEY),
            default="ALL",
        ),
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

**Metadata columns** have what the broker knows of a message, and are not in its value:

| key | type | |
|---|---|---|
| `topic` | STRING | name of the topic |
| `partition` | INT or BIGINT | number of the partition |
| `offset` | BIGINT | place of the message in its partition |
| `timestamp` | TIMESTAMP_LTZ or TIMESTAMP | time of the message, NULL if it has none; it can be event time |
| `timestamp-type` | STRING | `CreateTime`, `LogAppendTime` or `NoTimestampType` |
| `headers` | MAP<STRING, BYTES> | headers; the last of several with one name |
| `leader-epoch` | INT or BIGINT | epoch of the leader of the partition; NULL if the broker does not tell it |
| `key` | STRING or BYTES | the whole key, NULL if there is none; not in Flink |

A column without time zone needs a script whose time zone is UTC.  All are part of the message, so a job that
continues has the same values.  Columns of `timestamp` and `headers` are written, too, unless they are
VIRTUAL; the others must be VIRTUAL in a table that is written.  A timestamp that is NULL, or not after 1970,
becomes that of the clock.  The header `fsql` of a row is always that of its own position.

**Columns of the key.** `key.format` says that the key of messages has columns: those of `key.fields`, or of
the PRIMARY KEY.  The form is `json`, an object; `json-value`, one JSON value; or `raw`, the bytes of a STRING
or BYTES, or an INT, BIGINT or DOUBLE with the first byte first.  With `'value.fields-include' = 'ALL'` the
values have these columns, too, and are what is read; with `EXCEPT_KEY` only the key has them.  A
`key.fields-prefix` distinguishes them from columns of the value: it is part of the columns' names, and not of
those in the key.  A message without a key has NULL in the columns of the key; a malformed key makes the row
malformed.

    CREATE TABLE orders (
        order_id BIGINT, item STRING,
        at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR at AS at - INTERVAL '5' SECOND
    ) WITH (
        'connector' = 'kafka', 'servers' = 'localhost:9092', 'topic' = 'orders', 'format' = 'json',
        'key.format' = 'raw', 'key.fields' = 'order_id', 'value.fields-include' = 'EXCEPT_KEY'
    );

Unlike in Flink, `key.format` is not required for upserts, the key may have the columns of the PRIMARY KEY in
a table that is only appended to, and formats have no metadata of their own.

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

The connector is tested with a broker of Apache Kafka 4.1, while the job and the broker are killed and frozen.
A job does not start while no broker answers; one that runs waits until brokers answer again.

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
