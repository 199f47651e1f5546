SELECT hour, kind, CAST(place AS BIGINT) AS place, id, amount
FROM (
    SELECT DATE_TRUNC('hour', made) AS hour, kind, id, amount,
        ROW_NUMBER() OVER (PARTITION BY kind, DATE_TRUNC('hour', made) ORDER BY amount DESC, id) AS place
    FROM orders
) AS ranked
WHERE place <= 3
