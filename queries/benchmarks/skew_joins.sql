-- Events with what is known of their key for a day, where the two agree; few rows have to be kept.

CREATE TABLE events (
    key STRING NOT NULL,
    item BIGINT NOT NULL,
    at TIMESTAMP NOT NULL,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'csv'
);

CREATE TABLE keys (
    key STRING NOT NULL,
    item BIGINT NOT NULL,
    at TIMESTAMP NOT NULL,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'file',
    'path' = '${keys}',
    'format' = 'csv'
);

CREATE TABLE pairs (
    key STRING,
    item BIGINT,
    at TIMESTAMP
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO pairs
SELECT events.key, events.item, events.at
FROM events JOIN keys
    ON events.key = keys.key AND events.at BETWEEN keys.at AND keys.at + INTERVAL '1' DAY
WHERE (events.item + keys.item) % 50 = 0;
