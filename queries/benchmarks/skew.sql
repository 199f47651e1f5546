-- The number of different items of each key so far, at every hundredth row of the key.

CREATE TABLE events (
    key STRING NOT NULL,
    item BIGINT NOT NULL
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'csv'
);

CREATE TABLE items (
    key STRING,
    events BIGINT,
    items BIGINT,
    most BIGINT
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO items
SELECT key, COUNT(*) AS events, COUNT(DISTINCT item) AS items, MAX(item) AS most
FROM events
GROUP BY key
HAVING COUNT(*) % 100 = 0;
