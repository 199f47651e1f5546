-- The first four conditions are true for the same half of the rows; the last is slower, and for 1 of 16.

CREATE TABLE lines (
    line STRING NOT NULL
) WITH ('connector' = 'file', 'path' = '${input}', 'format' = 'parquet');

CREATE TABLE kept (
    line STRING
) WITH ('connector' = 'file', 'path' = '${output}');

INSERT INTO kept
SELECT line FROM lines
WHERE REGEXP_LIKE(line, '(ab|cd)+x[0-9]+y') AND REGEXP_LIKE(line, '(b|d)+x[0-9]+y')
  AND REGEXP_LIKE(line, 'b+x[0-9]+y') AND REGEXP_LIKE(line, 'bx[0-9]+y')
  AND SHA256(line) LIKE '0%';
