-- Revenue for each city and article, from orders that are documents: a customer with an address, and a list
-- of items.
--
-- Fields are named by dots. UNNEST makes a row of each item, with a column for each of its fields.

CREATE TABLE orders (
    id BIGINT,
    customer ROW<name STRING, address ROW<city STRING, zip STRING>>,
    items ARRAY<ROW<sku STRING, quantity INT, cents BIGINT>>
) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'json'
);

CREATE TABLE revenue (
    place ROW<city STRING, sku STRING>,
    orders BIGINT,
    cents BIGINT
) WITH (
    'connector' = 'file',
    'path' = 'revenue.jsonl',
    'changes' = 'retract'
);

INSERT INTO revenue
SELECT (customer.address.city, sku) AS place, COUNT(*) AS orders, SUM(quantity * cents) AS cents
FROM orders CROSS JOIN UNNEST(items)
GROUP BY (customer.address.city, sku);
