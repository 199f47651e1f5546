-- An inverted index over a file of documents, `id<TAB>words`: for each document and word a change record with
-- the word's positions and the number of documents that had it before.

CREATE TABLE documents (
    line STRING NOT NULL,
    id AS ELEMENT_AT(SPLIT(line, '	'), 1),
    words AS SPLIT(ELEMENT_AT(SPLIT(line, '	'), 2), ' ')
) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'text'
);

CREATE TABLE changes (
    word STRING,
    id STRING,
    positions ARRAY<BIGINT>,
    documents_before BIGINT
) WITH (
    'connector' = '${sink}',
    ${sink_path}
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
