-- The count and the sum of each key so far, as changes: what is kept is a group for each key.

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

CREATE TABLE counts (
    key BIGINT,
    events BIGINT,
    total BIGINT
) WITH (
    'connector' = 'blackhole',
    'changes' = 'retract'
);

INSERT INTO counts
SELECT key, COUNT(*) AS events, SUM(number) AS total
FROM events
GROUP BY key;
