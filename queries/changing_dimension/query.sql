-- Each order line with the product as it was when the order was made: its name and price change.

CREATE TABLE order_lines (
    order_id BIGINT,
    product_id BIGINT,
    quantity INT,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH ('connector' = 'file', 'path' = 'input/order_lines.jsonl', 'format' = 'json');

CREATE TABLE products (
    product_id BIGINT,
    name STRING,
    cents BIGINT,
    changed_at TIMESTAMP,
    WATERMARK FOR changed_at AS changed_at - INTERVAL '10' SECOND,
    PRIMARY KEY (product_id) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'input/products.jsonl', 'format' = 'json');

CREATE TABLE priced_lines (
    order_id BIGINT,
    at TIMESTAMP,
    name STRING,
    total_cents BIGINT
) WITH ('connector' = 'file', 'path' = 'priced_lines.jsonl', 'format' = 'json');

INSERT INTO priced_lines
SELECT l.order_id, l.at, p.name, l.quantity * p.cents AS total_cents
FROM order_lines AS l
LEFT JOIN products FOR SYSTEM_TIME AS OF l.at AS p
    ON l.product_id = p.product_id;
