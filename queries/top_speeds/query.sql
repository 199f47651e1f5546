-- The top speed and the average of each road segment over the last 30 seconds, every 10 seconds.
--
-- Two roadside units report, each in a file of its own; cars on the bridge pass both.  Reports come up to a
-- few seconds out of order, so the watermark follows 5 seconds behind.  A row of result comes once, when
-- its window closes.  What comes later than that is not silently gone: it is in late.jsonl; and a report
-- that cannot be read is in rejects.jsonl.

CREATE TABLE reports (
    at TIMESTAMP,
    segment STRING,
    kmh DOUBLE,
    WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'json',
    'on_error' = 'reject',
    'rejects_path' = 'rejects.jsonl'
);

CREATE TABLE top_speeds (
    window_start TIMESTAMP,
    window_end TIMESTAMP,
    segment STRING,
    top_kmh DOUBLE,
    average_kmh DOUBLE,
    cars BIGINT
) WITH (
    'connector' = 'file',
    'path' = 'top_speeds.jsonl',
    'late_path' = 'late.jsonl'
);

INSERT INTO top_speeds
SELECT
    window_start,
    window_end,
    segment,
    MAX(kmh) AS top_kmh,
    ROUND(AVG(kmh) * 10.0) / 10.0 AS average_kmh,
    COUNT(*) AS cars
FROM HOP(reports, at, INTERVAL '10' SECOND, INTERVAL '30' SECOND)
GROUP BY segment, window_start, window_end;
