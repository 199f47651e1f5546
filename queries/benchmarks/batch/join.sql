-- The orders of each country in an hour: each order is joined with its buyer.

CREATE TABLE result (hour TIMESTAMP, country STRING, orders BIGINT, total BIGINT)
    WITH ('connector' = 'file', 'path' = '${output}', 'format' = 'parquet');

CREATE VIEW placed AS
SELECT o.made, b.country, o.amount
FROM orders AS o JOIN buyers FOR SYSTEM_TIME AS OF o.made AS b ON o.buyer = b.buyer;

INSERT INTO result
SELECT window_start AS hour, country, COUNT(*) AS orders, SUM(amount) AS total
FROM TUMBLE(placed, made, INTERVAL '1' HOUR)
GROUP BY country, window_start, window_end;
