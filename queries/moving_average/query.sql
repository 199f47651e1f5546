-- The moving average of each sensor: over its last three readings, and over the last minute.
--
-- A row comes once the watermark has passed its time, so the rows of a sensor come in the order of time.

CREATE TABLE readings (
    sensor STRING,
    degrees DOUBLE,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '30' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE averages (
    sensor STRING,
    at TIMESTAMP,
    degrees DOUBLE,
    last_three DOUBLE,
    last_minute DOUBLE,
    in_minute BIGINT
) WITH (
    'connector' = 'file',
    'path' = 'averages.jsonl',
    'format' = 'json',
    'late_path' = 'late.jsonl'
);

INSERT INTO averages
SELECT
    sensor,
    at,
    degrees,
    AVG(degrees) OVER (PARTITION BY sensor ORDER BY at ROWS 2 PRECEDING) AS last_three,
    AVG(degrees) OVER minute AS last_minute,
    COUNT(*) OVER minute AS in_minute
FROM readings
WINDOW minute AS (PARTITION BY sensor ORDER BY at RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW);
