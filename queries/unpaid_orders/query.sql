-- Orders with their payment of the next hour, or without one.
--
-- An interval join: a payment belongs to an order if it comes within an hour of it.  An order
-- without one is written once, when the watermark has passed that hour.

CREATE TABLE orders (
    id BIGINT,
    customer STRING,
    cents BIGINT,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '1' MINUTE
) WITH ('connector' = 'file', 'path' = 'input/orders.jsonl', 'format' = 'json');

CREATE TABLE payments (
    order_id BIGINT,
    cents BIGINT,
    paid TIMESTAMP,
    WATERMARK FOR paid AS paid - INTERVAL '1' MINUTE
) WITH ('connector' = 'file', 'path' = 'input/payments.jsonl', 'format' = 'json');

CREATE TABLE orders_paid (
    id BIGINT,
    customer STRING,
    at TIMESTAMP,
    paid TIMESTAMP
) WITH ('connector' = 'file', 'path' = 'orders_paid.jsonl', 'changes' = 'append');

INSERT INTO orders_paid
SELECT o.id, o.customer, o.at, p.paid
FROM orders AS o
LEFT JOIN payments AS p
    ON o.id = p.order_id AND p.cents >= o.cents AND p.paid BETWEEN o.at AND o.at + INTERVAL '1' HOUR;
