-- The mean price of each minute, weighted by the shares, by an aggregate function in Python;
-- beside it that of the last two trades.

CREATE AGGREGATE FUNCTION weighted_price(price BIGINT, shares BIGINT) RETURNS DOUBLE
    LANGUAGE PYTHON AS 'prices:WeightedPrice';

CREATE TABLE trades (
    symbol STRING,
    cents BIGINT,
    shares BIGINT,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE prices (
    symbol STRING,
    minute TIMESTAMP,
    trades BIGINT,
    cents DOUBLE,
    latest DOUBLE
) WITH ('connector' = 'file', 'path' = 'prices.jsonl', 'format' = 'json');

INSERT INTO prices
SELECT
    symbol,
    window_start,
    COUNT(*),
    weighted_price(cents, shares),
    LAST_VALUE(latest)
FROM TUMBLE((
    SELECT *, weighted_price(cents, shares) OVER (PARTITION BY symbol ROWS 1 PRECEDING) AS latest
    FROM trades
), at, INTERVAL '1' MINUTE)
GROUP BY symbol, window_start, window_end;
