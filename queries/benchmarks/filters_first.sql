-- Few rows pass both conditions; the expensive one is written first.

CREATE TABLE lines (
    line STRING NOT NULL,
    n BIGINT NOT NULL
) WITH ('connector' = 'file', 'path' = '${input}', 'format' = 'parquet');

CREATE TABLE kept (
    line STRING
) WITH ('connector' = 'file', 'path' = '${output}');

INSERT INTO kept
SELECT line FROM lines WHERE REGEXP_LIKE(line, '(ab|cd)+x[0-9]+y') AND n < 50;
