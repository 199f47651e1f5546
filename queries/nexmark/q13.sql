-- Bids with the row of a table that is there before them.

CREATE TABLE side_input (
    key BIGINT,
    value STRING,
    at TIMESTAMP,
    PRIMARY KEY (key) NOT ENFORCED,
    WATERMARK FOR at
) WITH ('connector' = 'file', 'path' = '${events}/side_input.csv', 'format' = 'csv');

CREATE TABLE q13 (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    dateTime TIMESTAMP,
    value STRING
) WITH ('connector' = 'blackhole');

INSERT INTO q13
SELECT B.auction, B.bidder, B.price, B.dateTime, S.value
FROM bid AS B
JOIN side_input FOR SYSTEM_TIME AS OF B.dateTime AS S ON MOD(B.auction, 10000) = S.key;
