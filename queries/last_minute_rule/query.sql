-- A rule over the last minute: three payments with one card within a minute are suspicious.

CREATE TABLE payments (
    card STRING,
    amount DECIMAL(10, 2),
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE alerts (
    card STRING,
    at TIMESTAMP,
    payments BIGINT,
    total DECIMAL(38, 2)
) WITH ('connector' = 'file', 'path' = 'alerts.jsonl', 'format' = 'json');

INSERT INTO alerts
SELECT card, at, payments, total
FROM (
    SELECT
        card,
        at,
        COUNT(*) OVER minute AS payments,
        SUM(amount) OVER minute AS total
    FROM payments
    WINDOW minute AS (PARTITION BY card ORDER BY at RANGE INTERVAL '1' MINUTE PRECEDING)
)
WHERE payments >= 3;
