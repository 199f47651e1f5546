-- The orders of each kind in an hour, and the number, bounds and sum of their amounts: few groups.

CREATE TABLE result (
    hour TIMESTAMP, kind STRING, orders BIGINT, least BIGINT, most BIGINT, total BIGINT
) WITH ('connector' = 'file', 'path' = '${output}', 'format' = 'parquet');

INSERT INTO result
SELECT window_start AS hour, kind, COUNT(*) AS orders, MIN(amount) AS least, MAX(amount) AS most,
    SUM(amount) AS total
FROM TUMBLE(orders, made, INTERVAL '1' HOUR)
WHERE amount >= 1000
GROUP BY kind, window_start, window_end;
