-- Rows that fall due at a rate: for each, how many rows its key has had.  The key is long, and there are as many
-- as asked for, so that the state has the size that is requested.

CREATE TABLE documents (
    id BIGINT,
    line STRING,
    key AS CAST(MOD(id, ${keys}) AS STRING) || '-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'
) WITH (
    'connector' = 'documents',
    'count' = '${count}',
    'words' = '1',
    'vocabulary' = '100',
    'rate' = '${rate}',
    'start_ms' = '${start_ms}',
    'peak_rate' = '${backlog_rate}',
    'peak_ms' = '${backlog_ms}'
);

CREATE TABLE counts (
    id BIGINT,
    seen BIGINT
) WITH (
    'connector' = 'tcp',
    'address' = '${consumer}',
    'changes' = 'append'
);

INSERT INTO counts
SELECT id, COUNT(*) OVER (PARTITION BY key ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS seen
FROM documents;
