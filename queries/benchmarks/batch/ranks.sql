-- The three greatest orders of each kind in an hour.

CREATE TABLE result (hour TIMESTAMP, kind STRING, place BIGINT, id BIGINT, amount BIGINT)
    WITH ('connector' = 'file', 'path' = '${output}', 'format' = 'parquet');

INSERT INTO result
SELECT hour, kind, place, id, amount
FROM (
    SELECT window_start AS hour, kind, id, amount,
        ROW_NUMBER() OVER (PARTITION BY kind, window_start, window_end ORDER BY amount DESC, id) AS place
    FROM TUMBLE(orders, made, INTERVAL '1' HOUR)
)
WHERE place <= 3;
