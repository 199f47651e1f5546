-- The greatest number of events that an item of each key has: MAX over a count that goes up.

CREATE TABLE events (
    key STRING NOT NULL,
    item BIGINT NOT NULL,
    at TIMESTAMP NOT NULL,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'csv'
);

CREATE TABLE maxima (
    key STRING,
    items BIGINT,
    most BIGINT
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO maxima
SELECT key, COUNT(*) AS items, MAX(events) AS most
FROM (SELECT key, item, COUNT(*) AS events FROM events GROUP BY key, item)
GROUP BY key
HAVING MAX(events) % 1000 = 0;
