-- The three products with the highest revenue of each hour.

CREATE TABLE sales (
    product STRING,
    amount DECIMAL(10, 2),
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE top_products (
    window_start TIMESTAMP,
    window_end TIMESTAMP,
    place BIGINT,
    product STRING,
    revenue DECIMAL(38, 2)
) WITH ('connector' = 'file', 'path' = 'top_products.jsonl', 'format' = 'json');

INSERT INTO top_products
SELECT window_start, window_end, place, product, revenue
FROM (
    SELECT *,
        ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY revenue DESC, product) AS place
    FROM (
        SELECT window_start, window_end, product, SUM(amount) AS revenue
        FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '1' HOUR))
        GROUP BY window_start, window_end, product
    )
)
WHERE place <= 3;
