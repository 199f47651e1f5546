-- An inverted index over generated documents: for each document and word a change record with the word's
-- positions and the number of documents that had it before.

CREATE TABLE documents (id BIGINT, line STRING) WITH (
    'connector' = 'documents',
    'words' = '${words}',
    'vocabulary' = '${vocabulary}',
    'seed' = '${seed}',
    'rate' = '${rate}'
);

CREATE TABLE changes (
    word STRING,
    id BIGINT,
    positions ARRAY<BIGINT>,
    documents_before BIGINT
) WITH (
    'connector' = 'file',
    'path' = '${output}'
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
    FROM UNNEST(SPLIT(line, ' ')) WITH ORDINALITY AS words (word, place)
    GROUP BY word
);
