-- How many readings each sensor has in a window of a day, and the bounds, sums and means of four values.

CREATE TABLE readings (
    sensor STRING NOT NULL,
    a BIGINT NOT NULL,
    b BIGINT NOT NULL,
    c BIGINT NOT NULL,
    d BIGINT NOT NULL,
    at TIMESTAMP NOT NULL,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'parquet'
);

CREATE TABLE days (
    day TIMESTAMP,
    sensor STRING,
    readings BIGINT,
    least_a BIGINT, most_a BIGINT, sum_a BIGINT, mean_a DOUBLE,
    least_b BIGINT, most_b BIGINT, sum_b BIGINT, mean_b DOUBLE,
    least_c BIGINT, most_c BIGINT, sum_c BIGINT, mean_c DOUBLE,
    least_d BIGINT, most_d BIGINT, sum_d BIGINT, mean_d DOUBLE
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO days
SELECT window_start AS day, sensor, COUNT(*) AS readings,
    MIN(a) AS least_a, MAX(a) AS most_a, SUM(a) AS sum_a, AVG(a) AS mean_a,
    MIN(b) AS least_b, MAX(b) AS most_b, SUM(b) AS sum_b, AVG(b) AS mean_b,
    MIN(c) AS least_c, MAX(c) AS most_c, SUM(c) AS sum_c, AVG(c) AS mean_c,
    MIN(d) AS least_d, MAX(d) AS most_d, SUM(d) AS sum_d, AVG(d) AS mean_d
FROM TUMBLE(readings, at, INTERVAL '1' DAY)
GROUP BY sensor, window_start, window_end;
