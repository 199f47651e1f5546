SELECT bidder, COUNT(*), p_window, p_window + INTERVAL '10 seconds'
FROM (
    SELECT bidder, TIME_BUCKET(INTERVAL '10 seconds', MAX(dateTime) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING)) AS p_window
    FROM bid
)
GROUP BY bidder, p_window
