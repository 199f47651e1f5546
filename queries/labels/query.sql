-- The sums of the meters of each set of labels, as a map, from samples that have their values in buckets.
--
-- Equal maps are one key, in whatever order their labels were written. MAP_AGG over sums that change makes its
-- map again.

CREATE TABLE samples (
    meter STRING,
    labels MAP<STRING, STRING>,
    buckets MAP<INT, BIGINT>
) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'json',
    'on_error' = 'reject',
    'rejects_path' = 'rejects.jsonl'
);

CREATE TABLE meters (
    labels MAP<STRING, STRING>,
    host STRING,
    sums MAP<STRING, BIGINT>
) WITH (
    'connector' = 'file',
    'path' = 'meters.jsonl',
    'changes' = 'retract'
);

CREATE VIEW sums AS
SELECT labels, meter, SUM(u.value) AS total
FROM samples CROSS JOIN UNNEST(buckets) AS u
GROUP BY labels, meter;

INSERT INTO meters
SELECT labels, labels['host'], MAP_AGG(meter, total ORDER BY total)
FROM sums
GROUP BY labels;
