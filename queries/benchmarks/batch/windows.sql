-- The orders of each buyer in windows of two hours that begin each hour: many groups.

CREATE TABLE result (hour TIMESTAMP, buyer BIGINT, orders BIGINT, total BIGINT)
    WITH ('connector' = 'file', 'path' = '${output}', 'format' = 'parquet');

INSERT INTO result
SELECT window_start AS hour, buyer, COUNT(*) AS orders, SUM(amount) AS total
FROM HOP(orders, made, INTERVAL '1' HOUR, INTERVAL '2' HOUR)
GROUP BY buyer, window_start, window_end;
