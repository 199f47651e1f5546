-- The number and the total of the bids of each auction, as changes: a join of two updating inputs.

CREATE TABLE events (
    at TIMESTAMP NOT NULL,
    key BIGINT NOT NULL,
    number BIGINT NOT NULL,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'json'
);

CREATE TABLE auctions (
    key BIGINT,
    bids BIGINT,
    total BIGINT
) WITH (
    'connector' = 'blackhole',
    'changes' = 'retract'
);

INSERT INTO auctions
SELECT counts.key, bids, total
FROM (SELECT key, COUNT(*) AS bids FROM events GROUP BY key) counts
JOIN (SELECT key, SUM(number) AS total FROM events GROUP BY key) sums ON counts.key = sums.key;
