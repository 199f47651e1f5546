SELECT DATE_TRUNC('hour', made) AS hour, country, COUNT(*) AS orders, CAST(SUM(amount) AS BIGINT) AS total
FROM orders JOIN buyers ON orders.buyer = buyers.buyer
GROUP BY country, DATE_TRUNC('hour', made)
