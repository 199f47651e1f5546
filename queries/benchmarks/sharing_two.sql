-- Two queries behind the same expensive condition.

CREATE TABLE lines (
    line STRING NOT NULL,
    n BIGINT NOT NULL
) WITH ('connector' = 'file', 'path' = '${input}', 'format' = 'parquet');

CREATE VIEW matches AS
SELECT line, n FROM lines WHERE REGEXP_LIKE(line, '(ab|cd)+x[0-9]+y');

CREATE TABLE least (
    line STRING
) WITH ('connector' = 'file', 'path' = '${output}');

CREATE TABLE most (
    line STRING
) WITH ('connector' = 'file', 'path' = '${output}.most');

INSERT INTO least
SELECT line FROM matches WHERE n < 50;

INSERT INTO most
SELECT line FROM matches WHERE n >= 950;
