-- How many different users each page had in each hour, with and without robots.

CREATE TABLE hits (
    page STRING,
    user_id BIGINT,
    agent STRING,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE audience (
    window_start TIMESTAMP,
    page STRING,
    hits BIGINT,
    users BIGINT,
    people BIGINT
) WITH ('connector' = 'file', 'path' = 'audience.jsonl', 'format' = 'json');

INSERT INTO audience
SELECT
    window_start,
    page,
    COUNT(*) AS hits,
    COUNT(DISTINCT user_id) AS users,
    COUNT(DISTINCT user_id) FILTER (WHERE agent <> 'robot') AS people
FROM TABLE(TUMBLE(TABLE hits, DESCRIPTOR(at), INTERVAL '1' HOUR))
GROUP BY window_start, window_end, page;
