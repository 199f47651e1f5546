-- Orders arrive more than once, since their sender retries.  The first of each id counts.

CREATE TABLE received (
    order_id BIGINT,
    customer STRING,
    cents BIGINT,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE orders (
    order_id BIGINT,
    customer STRING,
    cents BIGINT,
    at TIMESTAMP,
    PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'orders.jsonl', 'format' = 'json');

INSERT INTO orders
SELECT order_id, customer, cents, at
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY at ASC) AS row_num
    FROM received
)
WHERE row_num = 1;
