-- What each visitor did in one visit: page views less than half an hour apart belong together.
--
-- A session ends when the watermark has passed the last page view by half an hour; its row comes once.

CREATE TABLE page_views (
    visitor STRING,
    page STRING,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '1' MINUTE
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE visits (
    visitor STRING,
    window_start TIMESTAMP,
    window_end TIMESTAMP,
    pages BIGINT,
    first_page STRING
) WITH ('connector' = 'file', 'path' = 'visits.jsonl', 'format' = 'json');

INSERT INTO visits
SELECT visitor, window_start, window_end, COUNT(*) AS pages, MIN(page) AS first_page
FROM TABLE(SESSION(TABLE page_views PARTITION BY visitor, DESCRIPTOR(at), INTERVAL '30' MINUTE))
GROUP BY visitor, window_start, window_end;
