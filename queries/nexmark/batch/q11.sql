SELECT bidder, COUNT(*), MIN(dateTime), MAX(dateTime) + INTERVAL '10 seconds'
FROM (
    SELECT bidder, dateTime, SUM(is_first) OVER (PARTITION BY bidder ORDER BY dateTime, place ROWS UNBOUNDED PRECEDING) AS session
    FROM (
        SELECT *, CASE WHEN
            dateTime > LAG(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime, place) + INTERVAL '10 seconds'
            THEN 1 ELSE 0 END AS is_first
        FROM bid
    )
)
GROUP BY bidder, session
