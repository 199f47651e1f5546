WITH counts AS (
    SELECT auction, COUNT(*) AS num, starttime
    FROM (
        SELECT auction, UNNEST(RANGE(
            TIME_BUCKET(INTERVAL '2 seconds', dateTime) - INTERVAL '8 seconds',
            TIME_BUCKET(INTERVAL '2 seconds', dateTime) + INTERVAL '1 second',
            INTERVAL '2 seconds'
        )) AS starttime
        FROM bid
    )
    GROUP BY auction, starttime
)
SELECT auction, num FROM counts QUALIFY num = MAX(num) OVER (PARTITION BY starttime)
