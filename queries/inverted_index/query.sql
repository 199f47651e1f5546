-- An inverted index that is kept up to date: for each word the documents that it is in, and where.
--
-- A line is a document, `title | text`.  Each document makes one change record for each of its words: the
-- positions of the word within the text (from 1), and in how many documents the word has been before.
-- A reader that applies the records in order has the index; `documents_before` shows whether it missed one.

CREATE TABLE documents (
    line STRING,
    title AS ELEMENT_AT(SPLIT(line, ' | '), 1),
    text AS REPLACE(REPLACE(REPLACE(LOWER(ELEMENT_AT(SPLIT(line, ' | '), 2)), ',', ''), '.', ''), ':', '')
) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'text'
);

CREATE TABLE changes (
    word STRING,
    title STRING,
    positions ARRAY<BIGINT>,
    documents_before BIGINT
) WITH (
    'connector' = 'file',
    'path' = 'changes.jsonl'
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
