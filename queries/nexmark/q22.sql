-- Bids with the directories of their addresses.

CREATE TABLE q22 (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    channel STRING,
    dir1 STRING,
    dir2 STRING,
    dir3 STRING
) WITH ('connector' = 'blackhole');

INSERT INTO q22
SELECT
    auction, bidder, price, channel,
    SPLIT_INDEX(url, '/', 3) AS dir1,
    SPLIT_INDEX(url, '/', 4) AS dir2,
    SPLIT_INDEX(url, '/', 5) AS dir3
FROM bid;
