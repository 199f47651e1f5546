-- The same over generated requests without an end: some pages are much more frequent than others.

CREATE TABLE requests (
    id BIGINT,
    page STRING,
    user_id AS id % 500,
    ms AS id * 7919 % 1000
) WITH (
    'connector' = 'words',
    'vocabulary' = '1000',
    'words_per_line' = '1',
    'rate' = '40000'
);

CREATE TABLE pages (
    page STRING,
    requests BIGINT,
    users BIGINT,
    slowest BIGINT
) WITH ('connector' = 'file', 'path' = 'pages.jsonl', 'format' = 'json');

INSERT INTO pages
SELECT page, COUNT(*) AS requests, COUNT(DISTINCT user_id) AS users, MAX(ms) AS slowest
FROM requests
GROUP BY page
HAVING COUNT(*) % 1000 = 0;
