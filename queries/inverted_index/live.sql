-- The inverted index of query.sql over documents that come by standard input: each line is one, `title | text`.
-- Only the options of the two tables differ from query.sql.
-- `python3 dev.py demo` sends the documents in input/ at a steady pace.  By hand:
--
--     cat input/*.txt | fsql run --overwrite live.sql

CREATE TABLE documents (
    line STRING,
    title AS ELEMENT_AT(SPLIT(line, ' | '), 1),
    text AS REPLACE(REPLACE(REPLACE(LOWER(ELEMENT_AT(SPLIT(line, ' | '), 2)), ',', ''), '.', ''), ':', '')
) WITH (
    'connector' = 'stdin',
    'format' = 'text'
);

CREATE TABLE changes (
    word STRING,
    title STRING,
    positions ARRAY<BIGINT>,
    documents_before BIGINT
) WITH (
    'connector' = 'file',
    'path' = 'live_changes.jsonl'
);

CREATE VIEW postings AS
SELECT word, title, positions
FROM documents CROSS JOIN LATERAL (
    SELECT word, ARRAY_AGG(place) AS positions
    FROM UNNEST(SPLIT(text, ' ')) WITH ORDINALITY AS words (word, place)
    GROUP BY word
);

INSERT INTO changes
SELECT
    word,
    title,
    positions,
    COUNT(*) OVER (
        PARTITION BY word
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS documents_before
FROM postings;
