-- Bids with day and minute, by which a file system partitions them.

CREATE TABLE q10 (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    dateTime TIMESTAMP,
    extra STRING,
    dt STRING,
    hm STRING
) WITH ('connector' = 'blackhole');

INSERT INTO q10
SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd'), DATE_FORMAT(dateTime, 'HH:mm')
FROM bid;
