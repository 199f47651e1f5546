-- The ten highest bids of each auction.

CREATE TABLE q19 (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    channel STRING,
    url STRING,
    dateTime TIMESTAMP,
    extra STRING,
    rank_number BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO q19
SELECT *
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number
    FROM bid
)
WHERE rank_number <= 10;
