-- Customers by city, from the change log of a database (Debezium).

CREATE TABLE customers (
    id BIGINT,
    name STRING,
    city STRING,
    PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'debezium-json');

CREATE TABLE cities (
    city STRING,
    customers BIGINT,
    PRIMARY KEY (city) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'cities.jsonl', 'format' = 'json', 'changes' = 'upsert');

INSERT INTO cities
SELECT city, COUNT(*) AS customers FROM customers GROUP BY city;
