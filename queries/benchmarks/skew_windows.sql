-- Counts, sums and the greatest item of each key in a window of a day.

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

CREATE TABLE windows (
    window_start TIMESTAMP,
    key STRING,
    events BIGINT,
    items BIGINT,
    total BIGINT,
    most BIGINT
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO windows
SELECT window_start, key, COUNT(*) AS events, COUNT(DISTINCT item) AS items, SUM(item) AS total,
    MAX(item) AS most
FROM TUMBLE(events, at, INTERVAL '1' DAY)
GROUP BY key, window_start, window_end;
