-- The readings that are above the limit of their sensor.  Most are of one sensor, which the hint may name.

CREATE TABLE readings (
    sensor STRING NOT NULL,
    a BIGINT NOT NULL,
    b BIGINT NOT NULL
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'parquet'
);

CREATE TABLE limits (
    sensor STRING NOT NULL,
    least BIGINT NOT NULL
) WITH (
    'connector' = 'file',
    'path' = '${limits}'
);

CREATE TABLE found (
    sensor STRING,
    a BIGINT,
    b BIGINT,
    least BIGINT
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO found
SELECT ${hint} r.sensor, r.a, r.b, l.least
FROM readings AS r JOIN limits AS l ON r.sensor = l.sensor
WHERE r.a + r.b > l.least;
