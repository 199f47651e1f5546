-- The bids of each user in ten seconds of processing time.

CREATE VIEW B AS SELECT *, PROCTIME() AS p_time FROM bid;

CREATE TABLE q12 (
    bidder BIGINT,
    bid_count BIGINT,
    starttime TIMESTAMP,
    endtime TIMESTAMP
) WITH ('connector' = 'blackhole');

INSERT INTO q12
SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE(TABLE B, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
