-- Currency conversion: prices in euros.

CREATE TABLE q1 (
    auction BIGINT,
    bidder BIGINT,
    price DECIMAL(23, 3),
    dateTime TIMESTAMP,
    extra STRING
) WITH ('connector' = 'blackhole');

INSERT INTO q1
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;
