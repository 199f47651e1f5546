-- Counts, sums, averages and extremes of each key in a window of a day.

CREATE TABLE orders (
    key STRING NOT NULL,
    price BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    at TIMESTAMP(3) NOT NULL,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'parquet'
);

CREATE TABLE days (
    window_start TIMESTAMP(3),
    key STRING,
    orders BIGINT,
    turnover BIGINT,
    lowest BIGINT,
    highest BIGINT,
    mean DOUBLE,
    amount BIGINT,
    most BIGINT
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO days
SELECT window_start, key, COUNT(*) AS orders, SUM(price) AS turnover, MIN(price) AS lowest,
    MAX(price) AS highest, AVG(price) AS mean, SUM(amount) AS amount, MAX(amount) AS most
FROM TUMBLE(orders, at, INTERVAL '1' DAY)
GROUP BY key, window_start, window_end;
