-- Views of each page, and how many visitors they came from, in windows of ${seconds} seconds.

CREATE TABLE views (
    page STRING,
    visitor STRING,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '5' SECOND -- rows may be up to 5 seconds out of order
) WITH (
    'connector' = 'file', 'path' = '../data/views.jsonl' -- relative to this script
);

SELECT window_end, page, COUNT(*) AS views, COUNT(DISTINCT visitor) AS visitors
FROM TUMBLE(views, at, INTERVAL '${seconds}' SECOND)
GROUP BY window_start, window_end, page;
