-- The sum of the amounts between barriers, which are events themselves: by a program, and in SQL.

CREATE PROGRAM totals AS 'totals:Totals' LANGUAGE PYTHON;

CREATE TABLE amounts (
    sensor BIGINT,
    amount BIGINT,
    at TIMESTAMP,
    WATERMARK FOR at
) WITH ('connector' = 'file', 'path' = 'input/values', 'format' = 'json');

CREATE TABLE barriers (
    label STRING,
    at TIMESTAMP,
    WATERMARK FOR at
) WITH ('connector' = 'file', 'path' = 'input/barriers.jsonl', 'format' = 'json');

CREATE TABLE windows (label STRING, total BIGINT, at TIMESTAMP)
WITH ('connector' = 'file', 'path' = 'windows.jsonl', 'format' = 'json');

INSERT INTO windows
SELECT label, total, at
FROM RUN(
    totals, TABLE amounts, TABLE barriers,
    TAG => CASE WHEN label IS NULL THEN 'amount' ELSE 'barrier' END
);

CREATE TABLE in_sql (label STRING, total BIGINT, at TIMESTAMP)
WITH ('connector' = 'file', 'path' = 'in_sql.jsonl', 'format' = 'json');

INSERT INTO in_sql
SELECT label, up_to - COALESCE(LAG(up_to) OVER (ORDER BY at), 0), at
FROM (
    SELECT label, COALESCE(SUM(amount) OVER (ORDER BY at ROWS UNBOUNDED PRECEDING), 0) AS up_to, at
    FROM (
        SELECT amount, CAST(NULL AS STRING) AS label, at FROM amounts
        UNION ALL
        SELECT NULL, label, at FROM barriers
    )
)
WHERE label IS NOT NULL;
