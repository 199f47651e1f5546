-- Selection: the bids on some auctions.

CREATE TABLE q2 (
    auction BIGINT,
    price BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO q2
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
