-- Every order with its deliveries: those that have not been delivered too.
--
-- Both tables are streams.  An order without a delivery is in the result at once, with NULLs; when its
-- first delivery comes, that row is taken back.

CREATE TABLE orders (
    id BIGINT,
    customer STRING,
    cents BIGINT,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH ('connector' = 'file', 'path' = 'input/orders.jsonl', 'format' = 'json');

CREATE TABLE deliveries (
    order_id BIGINT,
    parcel STRING,
    delivered TIMESTAMP,
    WATERMARK FOR delivered AS delivered - INTERVAL '10' SECOND
) WITH ('connector' = 'file', 'path' = 'input/deliveries.jsonl', 'format' = 'json');

CREATE TABLE order_status (
    id BIGINT,
    customer STRING,
    parcel STRING,
    delivered TIMESTAMP
) WITH ('connector' = 'file', 'path' = 'order_status.jsonl', 'changes' = 'retract');

INSERT INTO order_status
SELECT o.id, o.customer, d.parcel, d.delivered
FROM orders AS o
LEFT JOIN deliveries AS d ON o.id = d.order_id AND o.cents >= 100;
