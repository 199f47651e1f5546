-- A pattern of several rows: cards that are tried with small payments before a large one.

CREATE TABLE payments (
    card STRING,
    shop STRING,
    amount DECIMAL(10, 2),
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '30' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE alerts (
    card STRING,
    tries BIGINT,
    first_try TIMESTAMP,
    shop STRING,
    amount DECIMAL(10, 2),
    at TIMESTAMP
) WITH ('connector' = 'file', 'path' = 'alerts.jsonl', 'format' = 'json');

INSERT INTO alerts
SELECT card, tries, first_try, shop, amount, at
FROM payments MATCH_RECOGNIZE (
    PARTITION BY card
    ORDER BY at
    MEASURES
        COUNT(small.amount) AS tries,
        FIRST(small.at) AS first_try,
        large.shop AS shop,
        large.amount AS amount,
        MATCH_ROWTIME() AS at
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (small{2,} large)
    WITHIN INTERVAL '10' MINUTE
    DEFINE small AS small.amount < 2, large AS large.amount > 50 * AVG(small.amount)
);
