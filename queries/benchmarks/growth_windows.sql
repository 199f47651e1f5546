-- The count and the sum of each of a thousand keys in each minute: what is kept is a minute of groups.

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

CREATE TABLE minutes (
    window_start TIMESTAMP,
    key BIGINT,
    events BIGINT,
    total BIGINT
) WITH (
    'connector' = 'blackhole'
);

INSERT INTO minutes
SELECT window_start, key, COUNT(*) AS events, SUM(number) AS total
FROM TUMBLE(events, at, INTERVAL '1' MINUTE)
GROUP BY key, window_start, window_end;
