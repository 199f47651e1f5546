-- A query behind an expensive condition.

CREATE TABLE lines (
    line STRING NOT NULL,
    n BIGINT NOT NULL
) WITH ('connector' = 'file', 'path' = '${input}', 'format' = 'parquet');

CREATE VIEW matches AS
SELECT line, n FROM lines WHERE REGEXP_LIKE(line, '(ab|cd)+x[0-9]+y');

CREATE TABLE least (
    line STRING
) WITH ('connector' = 'file', 'path' = '${output}');

INSERT INTO least
SELECT line FROM matches WHERE n < 50;
