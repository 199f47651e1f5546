-- Each event with the earlier events of its key in the last minute: a join within a range of time.

CREATE TABLE events (
    at TIMESTAMP NOT NULL,
    key BIGINT NOT NULL,
    number BIGINT NOT NULL,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'json'
);

CREATE TABLE pairs (
    at TIMESTAMP,
    key BIGINT,
    number BIGINT,
    earlier BIGINT
) WITH (
    'connector' = 'blackhole'
);

INSERT INTO pairs
SELECT a.at, a.key, a.number, b.number AS earlier
FROM events a
JOIN events b ON a.key = b.key AND b.at BETWEEN a.at - INTERVAL '1' MINUTE AND a.at;
