-- The inverted index of paced_index.sql, over documents that fall due at a rate with a peak.

CREATE TABLE documents (
    id BIGINT,
    line STRING NOT NULL,
    words AS SPLIT(line, ' ')
) WITH (
    'connector' = 'documents',
    'count' = '${count}',
    'words' = '${words}',
    'vocabulary' = '100000',
    'rate' = '${rate}',
    'start_ms' = '${start_ms}',
    'peak_rate' = '${peak_rate}',
    'peak_start_ms' = '${peak_start_ms}',
    'peak_ms' = '${peak_ms}'
);

CREATE TABLE changes (
    word STRING,
    id BIGINT,
    positions ARRAY<BIGINT>,
    documents_before BIGINT
) WITH (
    'connector' = 'tcp',
    'address' = '${consumer}',
    'changes' = 'append'
);

INSERT INTO changes
SELECT
    word,
    id,
    positions,
    COUNT(*) OVER (
        PARTITION BY word
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS documents_before
FROM documents CROSS JOIN LATERAL (
    SELECT word, ARRAY_AGG(place) AS positions
    FROM UNNEST(words) WITH ORDINALITY AS found (word, place)
    GROUP BY word
);
