-- The latest reading of each sensor, as a table that follows its input.

CREATE TABLE readings (
    sensor STRING,
    celsius DOUBLE,
    at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH ('connector' = 'file', 'path' = 'input', 'format' = 'json');

CREATE TABLE latest (
    sensor STRING,
    celsius DOUBLE,
    at TIMESTAMP,
    PRIMARY KEY (sensor) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'latest.jsonl', 'format' = 'json', 'changes' = 'upsert');

INSERT INTO latest
SELECT sensor, celsius, at
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY sensor ORDER BY at DESC) AS row_num
    FROM readings
)
WHERE row_num = 1;
