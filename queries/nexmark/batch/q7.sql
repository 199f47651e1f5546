SELECT B.auction, B.bidder, B.price, B.dateTime, B.extra
FROM bid B
JOIN (
    SELECT MAX(price) AS maxprice, TIME_BUCKET(INTERVAL '10 seconds', dateTime) AS starttime
    FROM bid
    GROUP BY starttime
) B1
ON B.price = B1.maxprice AND B.dateTime BETWEEN B1.starttime AND B1.starttime + INTERVAL '10 seconds'
