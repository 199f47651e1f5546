SELECT hour, buyer, COUNT(*) AS orders, CAST(SUM(amount) AS BIGINT) AS total
FROM (
    SELECT DATE_TRUNC('hour', made) AS hour, buyer, amount FROM orders
    UNION ALL
    SELECT DATE_TRUNC('hour', made) - INTERVAL '1' HOUR AS hour, buyer, amount FROM orders
) AS placed
GROUP BY buyer, hour
