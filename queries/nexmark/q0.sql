-- Passes bids through.

CREATE TABLE q0 (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    dateTime TIMESTAMP,
    extra STRING
) WITH ('connector' = 'blackhole');

INSERT INTO q0
SELECT auction, bidder, price, dateTime, extra FROM bid;
