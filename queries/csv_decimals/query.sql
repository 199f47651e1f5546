-- What did each product bring on each day? From CSV files of shops, with dates and exact prices.
--
-- A DATE is no event time; the computed column `at`, the midnight with which the day begins, is.  So each
-- day is a window, and its sums come once, when no shop can add to it any more.

CREATE TABLE sales (
    day DATE,
    product STRING,
    quantity INT,
    price DECIMAL(8, 2),
    discount DECIMAL(3, 2),
    at AS CAST(day AS TIMESTAMP),
    WATERMARK FOR at AS at - INTERVAL '1' DAY
) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'csv',
    'delimiter' = ';',
    'on_error' = 'reject',
    'rejects_path' = 'rejects.jsonl'
);

CREATE TABLE revenue (
    day DATE,
    product STRING,
    pieces BIGINT,
    revenue DECIMAL(38, 2),
    pay_by DATE
) WITH (
    'connector' = 'file',
    'path' = 'revenue.jsonl'
);

CREATE VIEW amounts AS
SELECT at, product, quantity, CAST(quantity * price * (1 - COALESCE(discount, 0)) AS DECIMAL(12, 2)) AS amount
FROM sales;

INSERT INTO revenue
SELECT
    CAST(window_start AS DATE) AS day,
    product,
    SUM(quantity) AS pieces,
    SUM(amount) AS revenue,
    CAST(window_start AS DATE) + INTERVAL '14' DAY AS pay_by
FROM TABLE(TUMBLE(TABLE amounts, DESCRIPTOR(at), INTERVAL '1' DAY))
GROUP BY window_start, window_end, product;
