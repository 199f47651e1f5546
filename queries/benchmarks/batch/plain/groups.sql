SELECT DATE_TRUNC('hour', made) AS hour, kind, COUNT(*) AS orders, MIN(amount) AS least, MAX(amount) AS most,
    CAST(SUM(amount) AS BIGINT) AS total
FROM orders
WHERE amount >= 1000
GROUP BY kind, DATE_TRUNC('hour', made)
