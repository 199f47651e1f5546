-- Views of pages with the title that the page had; a change of the title shows the one before.

CREATE PROGRAM pages AS 'pages:Pages' LANGUAGE PYTHON;

CREATE TABLE views (
    page STRING,
    visitor BIGINT,
    at TIMESTAMP,
    WATERMARK FOR at
) WITH ('connector' = 'file', 'path' = 'input/views', 'format' = 'json');

CREATE TABLE titles (
    page STRING,
    title STRING,
    at TIMESTAMP,
    WATERMARK FOR at
) WITH ('connector' = 'file', 'path' = 'input/titles.jsonl', 'format' = 'json');

CREATE TABLE seen (page STRING, visitor BIGINT, title STRING, at TIMESTAMP)
WITH ('connector' = 'file', 'path' = 'seen.jsonl', 'format' = 'json');

INSERT INTO seen
SELECT page, visitor, title, at
FROM RUN(
    pages, TABLE views, TABLE titles,
    TAG => ROW(CASE WHEN title IS NULL THEN 'view' ELSE 'title' END, page)
);
