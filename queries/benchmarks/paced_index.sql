-- An inverted index over documents that fall due at a rate: for each document and word a change record with the
-- word's positions and the number of documents of the same shelf that had it before.  With one shelf it is the
-- index of the papers; the more shelves, the more there is to remember.

CREATE TABLE documents (
    id BIGINT,
    line STRING NOT NULL,
    shelf AS MOD(id, ${shelves}),
    words AS SPLIT(line, ' ')
) WITH (
    'connector' = 'documents',
    'count' = '${count}',
    'words' = '300',
    'vocabulary' = '100000',
    'rate' = '${rate}',
    'start_ms' = '${start_ms}',
    'peak_rate' = '${backlog_rate}',
    'peak_ms' = '${backlog_ms}'
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
        PARTITION BY word, shelf
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS documents_before
FROM documents CROSS JOIN LATERAL (
    SELECT word, ARRAY_AGG(place) AS positions
    FROM UNNEST(words) WITH ORDINALITY AS found (word, place)
    GROUP BY word
);
