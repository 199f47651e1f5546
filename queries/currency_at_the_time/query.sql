-- Amounts in many currencies, in euros at the rate of their time, summed by hour.

CREATE TABLE transactions (
    id STRING,
    currency STRING,
    amount DECIMAL(12, 2),
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '30' SECOND
) WITH ('connector' = 'file', 'path' = 'input/transactions.jsonl', 'format' = 'json');

CREATE TABLE currency_rates (
    currency STRING,
    euros DECIMAL(12, 6),
    valid_from TIMESTAMP,
    WATERMARK FOR valid_from AS valid_from - INTERVAL '30' SECOND,
    PRIMARY KEY (currency) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'input/currency_rates.csv', 'format' = 'csv');

CREATE TABLE euros_by_hour (
    window_start TIMESTAMP,
    window_end TIMESTAMP,
    transactions BIGINT,
    euros DECIMAL(38, 2)
) WITH ('connector' = 'file', 'path' = 'euros_by_hour.jsonl', 'format' = 'json');

CREATE VIEW in_euros AS
SELECT t.id, t.at, CAST(t.amount * r.euros AS DECIMAL(18, 2)) AS euros
FROM transactions AS t
JOIN currency_rates FOR SYSTEM_TIME AS OF t.at AS r
    ON t.currency = r.currency;

INSERT INTO euros_by_hour
SELECT window_start, window_end, COUNT(*) AS transactions, SUM(euros) AS euros
FROM TABLE(TUMBLE(TABLE in_euros, DESCRIPTOR(at), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;
