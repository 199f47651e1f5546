-- Requests, users and the slowest answer of each page so far; one page has most of the requests.

CREATE TABLE requests (
    page STRING,
    user_id BIGINT,
    ms BIGINT
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'csv');

CREATE TABLE pages (
    page STRING,
    requests BIGINT,
    users BIGINT,
    slowest BIGINT
) WITH ('connector' = 'file', 'path' = 'pages.jsonl', 'format' = 'json');

INSERT INTO pages
SELECT page, COUNT(*) AS requests, COUNT(DISTINCT user_id) AS users, MAX(ms) AS slowest
FROM requests
GROUP BY page;
