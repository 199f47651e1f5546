-- A report of sales by category, the largest first, and the list of all sales by price.
--
-- The input ends, so an ORDER BY in any order gives the final rows, each once: a report like that of a batch.

CREATE TABLE sales (
    id BIGINT,
    product STRING,
    pieces INT,
    cents BIGINT
) WITH ('connector' = 'file', 'path' = 'input/sales-*.jsonl', 'format' = 'json');

CREATE TABLE products (
    name STRING,
    category STRING
) WITH ('connector' = 'file', 'path' = 'input/products.jsonl', 'format' = 'json');

CREATE TABLE by_category (
    category STRING,
    sales BIGINT,
    cents BIGINT
) WITH ('connector' = 'file', 'path' = 'by_category.jsonl');

CREATE TABLE by_price (
    id BIGINT,
    product STRING,
    cents BIGINT
) WITH ('connector' = 'file', 'path' = 'by_price.jsonl');

INSERT INTO by_category
SELECT p.category, COUNT(*) AS sales, SUM(s.pieces * s.cents) AS cents
FROM sales AS s
LEFT JOIN products AS p ON p.name = s.product
GROUP BY p.category
ORDER BY 3 DESC NULLS LAST, p.category NULLS FIRST;

INSERT INTO by_price
SELECT id, product, cents FROM sales ORDER BY cents DESC, pieces;
